// Writes one split as a row of shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/shard_writer.h"

namespace segue {

struct ShardLayout {
  TokenType type = TokenType::kUInt8;
  int64_t shard_tokens = 0;  // at most so many in a shard
  int compression = 0;
};

class SplitWriter {
 public:
  SplitWriter(std::filesystem::path directory, std::string name, int64_t tokens, const ShardLayout& layout);

  // At most missing() tokens, in their type on disk.
  void append(std::span<const std::byte> tokens);
  int64_t missing() const { return info_.tokens - written_; }

  // The split for the manifest, once nothing is missing.
  const SplitInfo& info() const;

 private:
  void begin_shard();
  void finish_shard();

  std::filesystem::path directory_;
  ShardLayout layout_;
  SplitInfo info_;
  int64_t written_ = 0;
  std::optional<ShardWriter> shard_;
};

}  // namespace segue

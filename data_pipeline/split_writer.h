// Writes one split as a row of shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/shard_buffer.h"
#include "data_pipeline/shard_writer.h"
#include "data_pipeline/token_checksum.h"

namespace segue {

struct ShardLayout {
  TokenType type = TokenType::kUInt8;
  int64_t shard_tokens = 0;  // at most so many in a shard
  int compression = 0;
};

// Tokens wait until they fill a shard or are the last, since a shard says how many it holds.
class SplitWriter {
 public:
  SplitWriter(std::filesystem::path directory, std::string name, const ShardLayout& layout);

  // Whole tokens, in their type on disk.
  void append(std::span<const std::byte> tokens);
  // The same of numbers, whose type on disk becomes that of the largest: shards that were written before are written
  // anew.
  void append(std::span<const uint32_t> numbers);
  // The split for the manifest; nothing can be appended any more.
  const SplitInfo& finish();
  // The same of numbers beside tokens.
  RowInfo finish_row();

 private:
  void write_shard();
  ShardInfo write(const std::string& file, int64_t index, ShardBuffer tokens) const;
  void widen(TokenType type);
  // The tokens of a shard that was written in type `before`.
  ShardBuffer read_widened(const ShardInfo& shard, int64_t index, TokenType before) const;

  std::filesystem::path directory_;
  ShardLayout layout_;
  SplitInfo info_;
  ShardBuffer waiting_;
  std::vector<std::byte> narrowed_;
  TokenChecksum checksum_;
};

}  // namespace segue

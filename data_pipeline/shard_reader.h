// Reads one shard, at any offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "data_pipeline/shard.h"

namespace segue {

class ShardReader {
 public:
  // Throws DataError naming the file when it is missing, unreadable or another shard than `expected`.
  ShardReader(std::filesystem::path path, const ShardIdentity& expected);

  // Tokens [offset, offset + tokens.size()). DataError naming file and offset when a chunk is damaged.
  void read(int64_t offset, std::span<int32_t> tokens) const;

  // The same as they lie on disk; whole tokens.
  void read_bytes(int64_t offset, std::span<std::byte> tokens) const;

 private:
  void read_as(hid_t type, int64_t offset, int64_t count, void* tokens) const;

  std::filesystem::path path_;
  TokenType type_;
  int64_t tokens_;
  Hdf5Handle file_;
  Hdf5Handle dataset_;
};

}  // namespace segue

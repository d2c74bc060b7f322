// Reads one shard, at any offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "data_pipeline/hdf5/row.h"
#include "data_pipeline/shard.h"

namespace segue {

// Not to be shared between threads.
class ShardReader {
 public:
  // Throws DataError naming the file when it is missing, damaged or another shard than `expected`, and FileError when
  // the system refuses to open it.
  ShardReader(const std::filesystem::path& path, const ShardIdentity& expected);
  ShardReader(Hdf5Bytes bytes, const ShardIdentity& expected);

  // Tokens [offset, offset + tokens.size()). DataError naming file and elements when a chunk is damaged.
  void read(int64_t offset, std::span<int32_t> tokens);

  // The same as they lie on disk; whole tokens.
  void read_bytes(int64_t offset, std::span<std::byte> tokens);

 private:
  static Hdf5Bytes open(const std::filesystem::path& path);

  TokenType type_;
  std::unique_ptr<const Hdf5Bytes> file_;  // stays where it is when the reader moves
  Hdf5Row row_;
};

}  // namespace segue

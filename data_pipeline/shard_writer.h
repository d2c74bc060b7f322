// Writes one shard.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/checksum.h"
#include "data_pipeline/hdf5_memory_file.h"
#include "data_pipeline/shard.h"

namespace segue {

// The HDF5 file is built in memory and written out whole by finish().
class ShardWriter {
 public:
  // `compression` is deflate's level, 1 to 9, or 0 for none.
  ShardWriter(std::filesystem::path path, ShardIdentity identity, int compression);

  // Tokens in their type on disk, at most missing() of them.
  void append(std::span<const std::byte> tokens);
  int64_t missing() const { return identity_.tokens - written_; }

  // Writes and syncs the file; returns the checksum of the token bytes. FileError when the disk refuses.
  std::string finish();

 private:
  std::filesystem::path path_;
  ShardIdentity identity_;
  int64_t written_ = 0;
  Checksum checksum_;
  Hdf5MemoryFile file_;
  Hdf5Handle dataset_;
};

}  // namespace segue

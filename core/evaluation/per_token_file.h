// The loss of every token in an HDF5 file, for analysis elsewhere.
//
//   nll      [B, n] float32, nats: row b is stream b, column i the i-th token scored in it
//   targets  [B, n] int32: the tokens these losses are about
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/tensor.h"
#include "data_pipeline/hdf5_memory_file.h"

namespace segue {

// Held in memory, 8 bytes per token, until finish() writes the file whole.
class PerTokenFile {
 public:
  PerTokenFile(const std::filesystem::path& path, int64_t streams);

  // Appends one segment: targets [B, length] int32 and their losses.
  void append(ConstTensorView targets, std::span<const float> nll);
  void finish();  // throws FileError when the disk refuses

 private:
  int64_t streams_;
  int64_t tokens_ = 0;  // per stream, so far
  Hdf5MemoryFile file_;
  Hdf5Handle nll_;
  Hdf5Handle targets_;
};

}  // namespace segue

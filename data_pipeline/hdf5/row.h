// Reads a one-dimensional array of numbers in an HDF5 file, at any offset.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data_pipeline/hdf5/layout.h"
#include "data_pipeline/hdf5/types.h"

namespace segue {

// A dataset of one row: of one dimension, or of several whose extents are 1 but for one. Not to be shared between
// threads: the chunk read last is kept.
class Hdf5Row {
 public:
  // Reads what is said of the dataset, and judges it: see read_hdf5_layout(), read_hdf5_chunks(). `file` has to live as
  // long.
  Hdf5Row(const Hdf5Bytes& file, const Hdf5Object& dataset);

  const Hdf5Type& type() const { return type_; }
  uint64_t elements() const { return extent_.elements(); }

  // Elements [offset, offset + bytes.size() / type().bytes) as they lie in the file.
  void read(uint64_t offset, std::span<std::byte> bytes);

 private:
  void read_chunked(uint64_t begin, std::span<std::byte> bytes);  // a byte of the row
  // The row's elements of a chunk.
  const std::vector<std::byte>& chunk(uint64_t index);

  const Hdf5Bytes* file_;
  std::string name_;
  Hdf5Type type_;
  Hdf5Extent extent_;
  Hdf5Layout layout_;
  std::vector<Hdf5Filter> filters_;
  std::vector<Hdf5Chunk> chunks_;
  uint64_t held_ = kHdf5Nowhere;  // chunk in memory
  std::vector<std::byte> held_bytes_;
};

}  // namespace segue

// Heaps in which groups and objects of many parts keep links and attributes (section III.G, "fractal" heaps).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data_pipeline/hdf5/bytes.h"

namespace segue {

class Hdf5Heap {
 public:
  // `what` the heap belongs to, for messages, has to live as long. Refuses heaps that are packed by filters.
  Hdf5Heap(const Hdf5Bytes& file, uint64_t address, std::string_view what);

  // What lies there under an identifier that a tree holds. Refuses objects too large for the heap's blocks.
  std::vector<std::byte> object(std::span<const std::byte> identifier) const;

 private:
  struct Block {
    uint64_t address;
    uint64_t begin;  // within the heap
    uint64_t bytes;
  };
  uint64_t row_bytes(uint64_t row) const;  // of a block in it
  Block direct_block(uint64_t offset) const;

  const Hdf5Bytes& file_;
  std::string_view what_;
  uint64_t width_ = 0;  // blocks of a row
  uint64_t first_bytes_ = 0;
  uint64_t most_bytes_ = 0;  // of a block that holds objects
  uint64_t offset_bytes_ = 0;
  uint64_t length_bytes_ = 0;
  uint64_t root_ = kHdf5Nowhere;
  uint64_t root_rows_ = 0;  // 0: the root holds objects itself
  bool is_sealed_ = false;
};

// The objects of a heap whose name, by the tree beside it, may be `name`: attributes (kind 8) or links (kind 5). Few
// share a checksum; more than that are refused.
std::vector<std::vector<std::byte>> find_in_hdf5_heap(const Hdf5Bytes& file, uint64_t heap, uint64_t tree,
                                                      uint64_t kind, std::string_view name, std::string_view what);

}  // namespace segue

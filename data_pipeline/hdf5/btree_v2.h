// HDF5's version 2 B-trees, whose nodes hold records of one size in order (section III.A.2).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "data_pipeline/hdf5/bytes.h"

namespace segue {

class Hdf5BTreeV2 {
 public:
  // `kind` of the records: 5 names of links, 8 names of attributes, 10 and 11 chunks without and with filters. `what`
  // holds the tree, for messages, and has to live as long.
  Hdf5BTreeV2(const Hdf5Bytes& file, uint64_t address, uint64_t kind, std::string_view what);

  uint64_t record_bytes() const { return record_bytes_; }
  uint64_t records() const { return records_; }

  // Each record, in order: every node once, no more records than the tree is said to have.
  void visit(const std::function<void(Hdf5Cursor)>& take) const;

 private:
  // The most records of a node and of all below it, and how many bytes their numbers take, by the level above leaves.
  struct Level {
    uint64_t most_bytes;
    uint64_t all;
    uint64_t all_bytes;
  };
  void add_levels(uint64_t node_bytes, uint64_t depth);
  void visit_node(uint64_t address, uint64_t count, uint64_t level, uint64_t& left,
                  const std::function<void(Hdf5Cursor)>& take) const;

  const Hdf5Bytes& file_;
  uint64_t kind_;
  std::string_view what_;
  uint64_t record_bytes_ = 0;
  uint64_t records_ = 0;
  uint64_t root_ = kHdf5Nowhere;
  uint64_t root_count_ = 0;
  std::vector<Level> levels_;
};

}  // namespace segue

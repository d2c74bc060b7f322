// What layers attend to: how much of their attention falls on the segment itself, and how much on rows of memory of
// each age.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "distributed/job.h"

namespace segue {

// Shares are means over streams, heads and queries of all segments that find a memory, whether it is full or not.
class AttentionByAge {
 public:
  // Of memories with at most so many rows.
  AttentionByAge(int64_t layers, int64_t most);

  // Takes in a segment of so many queries: per layer what its rows of memory received from them [B, N, M] float32,
  // oldest first.
  void add(std::span<const ConstTensorView> received, int64_t queries);

  void sum(Job& job);  // over the ranks; all of them call it

  int64_t layers() const { return layers_; }
  // Of a layer's attention, from 0 to 1: on rows from..to back from the segment, of which 1 is the newest; and on all.
  struct Share {
    int64_t from = 0;
    int64_t to = 0;
    double share = 0.0;
  };
  // Rows 1, 2, 3 to 4, 5 to 8, and so on, to the oldest.
  std::vector<Share> by_age(int64_t layer) const;
  double of_memory(int64_t layer) const;

 private:
  double share_of(int64_t layer, int64_t from, int64_t to) const;

  int64_t layers_;
  int64_t most_;
  // Per layer and age what was received; and behind them what was given in all, in every layer.
  std::vector<double> sums_;
};

}  // namespace segue

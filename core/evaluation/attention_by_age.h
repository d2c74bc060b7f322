// Measures what layers attend to: how much attention falls on the segment itself, and how much on rows of memory of
// each age.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "distributed/job.h"

namespace segue {

// Shares are means over the heads and queries of all that is taken in: whole segments that find their memory full, so
// that neither the ends of texts nor their beginnings count.
class AttentionByAge {
 public:
  // Of memories with at most so many rows.
  AttentionByAge(int64_t layers, int64_t most);

  // Takes in a stream's segment of so many queries: its number among those of per layer what rows of memory received
  // from them [B, N, M] float32, oldest first.
  void add(std::span<const ConstTensorView> received, int64_t stream, int64_t queries);

  void sum(Job& job);  // over the ranks; all of them call it

  bool empty() const { return sums_.back() == 0.0; }
  int64_t layers() const { return layers_; }
  // Of a layer's attention, from 0 to 1: on rows from..to back from the segment, of which 1 is the newest; and on all.
  struct Share {
    int64_t from = 0;
    int64_t to = 0;
    double share = 0.0;
  };
  // Rows 1, 2, 3 to 4, 5 to 8, and so on, to the oldest that there was.
  std::vector<Share> by_age(int64_t layer) const;
  double of_memory(int64_t layer) const;

 private:
  int64_t oldest() const;
  double share_of(int64_t layer, int64_t from, int64_t to) const;

  int64_t layers_;
  int64_t most_;
  // Per layer and age what was received; behind them how many times there was such an age; and what was given in all,
  // in every layer.
  std::vector<double> sums_;
};

}  // namespace segue

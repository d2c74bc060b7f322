// Ages in doubling steps: attention falls off with distance by factors, not by tokens.
#include "core/evaluation/attention_by_age.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace segue {

AttentionByAge::AttentionByAge(int64_t layers, int64_t most)
    : layers_(layers), most_(most), sums_(static_cast<size_t>(layers * most + 1)) {}

void AttentionByAge::add(std::span<const ConstTensorView> received, int64_t queries) {
  if (std::ssize(received) != layers_) throw ContractError("attention of {} layers for {}", received.size(), layers_);
  const Shape& shape = received.front().shape;
  if (shape[2] > most_) throw ContractError("a memory of {} rows, expected at most {}", shape[2], most_);
  for (int64_t layer = 0; layer < layers_; ++layer) {
    const auto* row = received[static_cast<size_t>(layer)].as<float>();
    for (int64_t pair = 0; pair < shape[0] * shape[1]; ++pair)
      for (int64_t age = shape[2]; age > 0; --age) sums_[static_cast<size_t>(layer * most_ + age - 1)] += *row++;
  }
  sums_.back() += static_cast<double>(shape[0] * shape[1] * queries);
}

void AttentionByAge::sum(Job& job) { job.sum(sums_); }

double AttentionByAge::share_of(int64_t layer, int64_t from, int64_t to) const {
  const auto first = sums_.begin() + layer * most_;
  return sums_.back() > 0.0 ? std::accumulate(first + from - 1, first + to, 0.0) / sums_.back() : 0.0;
}

std::vector<AttentionByAge::Share> AttentionByAge::by_age(int64_t layer) const {
  std::vector<Share> shares;
  for (int64_t from = 1, to = 1; from <= most_; from = to + 1, to = std::min(2 * to, most_))
    shares.push_back({.from = from, .to = to, .share = share_of(layer, from, to)});
  return shares;
}

double AttentionByAge::of_memory(int64_t layer) const { return share_of(layer, 1, most_); }

}  // namespace segue

// Ages in doubling steps: attention falls off with distance by factors, not by tokens.
#include "core/evaluation/attention_by_age.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace segue {

AttentionByAge::AttentionByAge(int64_t layers, int64_t most)
    : layers_(layers), most_(most), sums_(static_cast<size_t>((layers + 1) * most + 1)) {}

void AttentionByAge::add(std::span<const ConstTensorView> received, int64_t stream, int64_t queries) {
  if (std::ssize(received) != layers_) throw ContractError("attention of {} layers for {}", received.size(), layers_);
  const int64_t heads = received.front().shape[1];
  const int64_t rows = received.front().shape[2];
  if (rows > most_) throw ContractError("a memory of {} rows, expected at most {}", rows, most_);
  for (int64_t layer = 0; layer < layers_; ++layer) {
    const auto* row = received[static_cast<size_t>(layer)].as<float>() + stream * heads * rows;
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t age = rows; age > 0; --age) sums_[static_cast<size_t>(layer * most_ + age - 1)] += *row++;
  }
  for (int64_t age = 1; age <= rows; ++age) sums_[static_cast<size_t>(layers_ * most_ + age - 1)] += 1.0;
  sums_.back() += static_cast<double>(heads * queries);
}

void AttentionByAge::sum(Job& job) { job.sum(sums_); }

int64_t AttentionByAge::oldest() const {
  int64_t age = most_;
  while (age > 0 && sums_[static_cast<size_t>(layers_ * most_ + age - 1)] == 0.0) --age;
  return age;
}

double AttentionByAge::share_of(int64_t layer, int64_t from, int64_t to) const {
  const auto first = sums_.begin() + layer * most_;
  return empty() ? 0.0 : std::accumulate(first + from - 1, first + to, 0.0) / sums_.back();
}

std::vector<AttentionByAge::Share> AttentionByAge::by_age(int64_t layer) const {
  std::vector<Share> shares;
  const int64_t last = oldest();
  for (int64_t from = 1, to = 1; from <= last; from = to + 1, to = std::min(2 * to, last))
    shares.push_back({.from = from, .to = to, .share = share_of(layer, from, to)});
  return shares;
}

double AttentionByAge::of_memory(int64_t layer) const { return share_of(layer, 1, most_); }

}  // namespace segue

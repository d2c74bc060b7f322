#include "data_pipeline/tasks/task_random.h"

#include <bit>
#include <limits>
#include <numeric>

namespace segue {

uint32_t TaskRandom::bits() {
  if (next_ % 4 == 0) block_ = random_block(sequence_, next_ / 4);
  return block_[next_++ % 4];
}

uint64_t TaskRandom::wide_bits() {
  const uint64_t high = bits();
  return high << 32 | bits();
}

// Of all numbers of 32 or 64 bits, those beyond the last multiple of `count` are drawn again.
int64_t TaskRandom::below(int64_t count) {
  const auto range = static_cast<uint64_t>(count);
  constexpr uint64_t kNarrow = uint64_t{1} << 32;
  if (range <= kNarrow) {
    const uint64_t end = kNarrow - kNarrow % range;
    uint64_t drawn = bits();
    while (drawn >= end) drawn = bits();
    return static_cast<int64_t>(drawn % range);
  }
  const uint64_t last =
      std::numeric_limits<uint64_t>::max() - (std::numeric_limits<uint64_t>::max() % range + 1) % range;
  uint64_t drawn = wide_bits();
  while (drawn > last) drawn = wide_bits();
  return static_cast<int64_t>(drawn % range);
}

std::vector<int64_t> TaskRandom::distinct(int64_t first, int64_t end, int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(end - first));
  std::iota(numbers.begin(), numbers.end(), first);
  draw_to_front(std::span(numbers), count);
  numbers.resize(static_cast<size_t>(count));
  return numbers;
}

WeightedDraw::WeightedDraw(std::span<const int64_t> weights)
    : weights_(weights.begin(), weights.end()),
      sums_(weights.begin(), weights.end()),
      left_(std::accumulate(weights.begin(), weights.end(), int64_t{0})) {
  for (size_t i = 1; i <= sums_.size(); ++i) {
    const size_t parent = i + (i & (~i + 1));
    if (parent <= sums_.size()) sums_[parent - 1] += sums_[i - 1];
  }
}

int64_t WeightedDraw::draw(TaskRandom& random) {
  int64_t rest = random.below(left_);
  size_t place = 0;  // as many places have a sum of at most `rest`, taken from it
  for (size_t step = std::bit_floor(sums_.size()); step > 0; step /= 2) {
    if (place + step > sums_.size() || sums_[place + step - 1] > rest) continue;
    place += step;
    rest -= sums_[place - 1];
  }
  left_ -= weights_[place];
  for (size_t i = place + 1; i <= sums_.size(); i += i & (~i + 1)) sums_[i - 1] -= weights_[place];
  weights_[place] = 0;
  return static_cast<int64_t>(place);
}

}  // namespace segue

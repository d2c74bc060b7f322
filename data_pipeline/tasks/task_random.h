// The random numbers of one example of a task, one after another.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"

namespace segue {

class TaskRandom {
 public:
  // A site that no split has: for what all examples share, such as a table of facts.
  static constexpr uint16_t kShared = 0xFFFF;

  TaskRandom(uint64_t seed, uint16_t site, uint64_t example) : sequence_{.seed = seed, .step = example, .site = site} {}

  uint32_t bits();
  uint64_t wide_bits();
  // Uniform in [0, count), without bias; count >= 1.
  int64_t below(int64_t count);
  // Uniform in [first, last].
  int64_t between(int64_t first, int64_t last) { return first + below(last - first + 1); }
  // True in `share` of all cases, to 2^-32.
  bool chance(double share) { return bits() < share * 4294967296.0; }
  // Moves a random choice of `count` elements to the front, in random order (Fisher and Yates).
  template <typename T>
  void draw_to_front(std::span<T> items, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      std::swap(items[static_cast<size_t>(i)], items[static_cast<size_t>(i + below(std::ssize(items) - i))]);
  }
  // `count` different numbers of [first, end), in random order.
  std::vector<int64_t> distinct(int64_t first, int64_t end, int64_t count);

 private:
  RandomSequence sequence_;
  uint64_t next_ = 0;
  std::array<uint32_t, 4> block_ = {};
};

// Draws without replacement, each place in proportion to its weight among those that are left.
class WeightedDraw {
 public:
  // Weights above 0, whose sum is below 2^63.
  explicit WeightedDraw(std::span<const int64_t> weights);

  // A place that was not drawn before; there must be one.
  int64_t draw(TaskRandom& random);

 private:
  std::vector<int64_t> weights_;
  std::vector<int64_t> sums_;  // a Fenwick tree of them
  int64_t left_ = 0;
};

}  // namespace segue

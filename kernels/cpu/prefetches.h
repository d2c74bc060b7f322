// Rows that are prefetched while tiles are multiplied: those of a head lie too far apart for the processor to foresee
// them.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "kernels/cpu/vector.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// Has a row of so many bytes brought into the second level cache; returns of how many lines. Inline, since GCC drops
// calls to what only prefetches.
[[gnu::always_inline]] inline int64_t prefetch_row(const void* row, int64_t bytes) {
  constexpr int64_t kLine = 64;
  constexpr int kIntoSecondLevel = 2;
  const auto* const from = static_cast<const char*>(row);
  for (int64_t byte = 0; byte < bytes; byte += kLine) __builtin_prefetch(from + byte, 0, kIntoSecondLevel);
  return (bytes + kLine - 1) / kLine;
}

// Rows that wait for it. The processor has few requests under way at once and waits where it would need more, so that a
// few lines are prefetched before each block of a product.
class Prefetches {
 public:
  // Forgets what is still waiting: what is needed at once gains nothing by being asked for.
  void clear() { first_ = count_ = 0; }

  // `rows` rows of `bytes` each, `apart` bytes from one to the next. At most kMost times after a clear().
  void add(const void* first, int64_t rows, int64_t apart, int64_t bytes) {
    assert(count_ < kMost);
    if (rows > 0) waiting_[count_++] = {static_cast<const char*>(first), rows, apart, bytes};
  }

  // Before a block of so many multiplications: prefetches about as many lines as arrive while it is computed, whole
  // rows.
  [[gnu::always_inline]] void operator()(int64_t multiplications) {
    for (int64_t lines = multiplications / kMultiplicationsOfALine; lines > 0 && first_ < count_;) {
      Rows& rows = waiting_[first_];
      lines -= prefetch_row(rows.next, rows.bytes);
      rows.next += rows.apart;
      if (--rows.count == 0) ++first_;
    }
  }

 private:
  static constexpr int64_t kMost = 10;
  // A chunk of a state's scan by channel, 64 by 64, multiplies about 147,000 times and waits for 320 lines of the next:
  // fewer at a time would not get to all of them, more come in bursts.
  static constexpr int64_t kMultiplicationsOfALine = 448;
  struct Rows {
    const char* next;
    int64_t count, apart, bytes;
  };

  std::array<Rows, kMost> waiting_;
  int first_ = 0, count_ = 0;
};

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

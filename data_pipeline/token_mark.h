// What a dataset may say of each of its tokens as a target: whether it is scored, and what is known of its answer.
#pragma once

#include <cstdint>

namespace segue {

// The target of a row that is not scored: it has no loss and no gradient.
constexpr int32_t kUnscoredTarget = -1;

// On disk one whole number: bit 0: scored; bit 1: goes on with the answer of the scored token right before it; from bit
// 2 on: how many tokens before it the first of those stands that decide it, 0: not said. A mask of zeros and ones is
// such a row of marks, in which every scored token is an answer.
struct TokenMark {
  uint32_t bits = 0;

  static constexpr uint32_t kScored = 1;
  static constexpr uint32_t kContinues = 2;
  static constexpr int64_t kMostDistance = (int64_t{1} << 29) - 1;  // marks are read as int32

  static constexpr TokenMark answer(int64_t distance) { return {static_cast<uint32_t>(distance) << 2 | kScored}; }
  static constexpr TokenMark further(int64_t distance) {
    return {static_cast<uint32_t>(distance) << 2 | kContinues | kScored};
  }

  constexpr bool is_scored() const { return (bits & kScored) != 0; }
  constexpr bool continues() const { return (bits & kContinues) != 0; }
  constexpr int64_t distance() const { return bits >> 2; }
  bool operator==(const TokenMark&) const = default;
};

}  // namespace segue

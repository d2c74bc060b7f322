// Patterns of what queries see, to try schedules of tiles with: what systems publish, and worse.
#pragma once

#include <vector>

#include "base/random.h"
#include "tests/kernels/relative_attention_problem.h"

namespace segue::kernels {

inline Pattern everything() {
  return {"everything", [](int64_t, int64_t, int64_t) { return true; }};
}
inline Pattern newest(int64_t window) {
  return {fmt::format("window {}", window), [=](int64_t, int64_t i, int64_t j) { return i - j < window; }};
}
// Half of the heads the newest, half every `stride`-th.
inline Pattern strided(int64_t stride) {
  return {fmt::format("strided {}", stride),
          [=](int64_t head, int64_t i, int64_t j) { return head % 2 == 0 ? i - j < stride : (i - j) % stride == 0; },
          true, 2};
}
// The query's own block and the last `columns` of every one.
inline Pattern fixed_blocks(int64_t block, int64_t columns) {
  return {fmt::format("blocks of {}, {} columns", block, columns),
          [=](int64_t, int64_t i, int64_t j) { return i / block == j / block || j % block >= block - columns; }};
}
// Head h sees the block h before the query's own, and the query itself.
inline Pattern shifted_blocks(int64_t block) {
  return {fmt::format("blocks of {}, shifted by head", block),
          [=](int64_t head, int64_t i, int64_t j) { return i == j || i / block - j / block == head; }, true};
}
// The query and, of all tiles, the one at the far end: with a gap between them that grows.
inline Pattern ends() {
  return {"both ends", [](int64_t, int64_t i, int64_t j) { return i == j || j < 3; }};
}
// Whole tiles with gaps between them, for queries, keys and distances alike, and the newest.
inline Pattern every_other_block() {
  return {"every other block",
          [](int64_t, int64_t i, int64_t j) { return i - j < 20 || (i / 64 % 2 == 1 && j / 64 % 2 == 0); }};
}
// One pair of eight, and the query's own.
inline Pattern scattered() {
  return {"scattered",
          [](int64_t head, int64_t i, int64_t j) {
            const RandomSequence random{.seed = 3, .step = 0, .site = 0};
            return i == j || random_bits(random, static_cast<uint64_t>((head * 4096 + i) * 4096 + j)) % 8 == 0;
          },
          true};
}

inline std::vector<Pattern> patterns() {
  return {everything(), newest(1),           newest(65),          newest(100), strided(7),
          strided(64),  fixed_blocks(64, 8), fixed_blocks(40, 3), ends(),      shifted_blocks(64),
          scattered(),  shifted_blocks(20),  every_other_block()};
}

}  // namespace segue::kernels

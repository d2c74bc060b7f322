// How linear_cross_entropy.cc cuts its products into blocks, each computed by one thread: by the sizes alone, so that
// no sum depends on the number of threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/linear_cross_entropy.h"

namespace segue::kernels::cpu {

constexpr int64_t kLeastChunkRows = 64;
constexpr int64_t kBlockClasses = 512;
constexpr int64_t kBlockRows = 512;  // of dx; smaller ones pack the table more often: 64 rows take twice the time
constexpr int64_t kBlockColumns = 512;
constexpr int64_t kDxJobs = 16;              // where the blocks are fewer, sums are cut into parts to be as many
constexpr int64_t kLeastPartClasses = 2048;  // a part of dx's sums with fewer is not worth its addition

inline int64_t divide_up(int64_t total, int64_t part) { return (total + part - 1) / part; }

// Where the i-th of so many even shares begins.
inline int64_t share_begin(int64_t total, int64_t i, int64_t shares) { return total * i / shares; }

// So many rows and, at most an eighth more, rows of zeros. Each batch brings a cluster another number of tokens, and
// for every number of rows there is, oneDNN compiles products of their own: so there are eight numbers for each power
// of two.
inline int64_t with_padding(int64_t rows) {
  const auto step = std::max<int64_t>(1, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows))) / 16);
  return divide_up(rows, step) * step;
}

inline int64_t chunk_rows(const LinearCrossEntropyExtents& e) {
  const int64_t wanted = e.scratch_bytes / bytes_of(e.activations) / e.classes;
  return std::min(e.rows, std::max(kLeastChunkRows, wanted));
}

// How many parts the sums of dx over the classes are cut into.
inline int64_t dx_parts(int64_t rows, int64_t width, int64_t classes) {
  const int64_t jobs = std::max<int64_t>(1, divide_up(rows, kBlockRows) * divide_up(width, kBlockColumns));
  return std::clamp<int64_t>(kDxJobs / jobs, 1, divide_up(classes, kLeastPartClasses));
}

}  // namespace segue::kernels::cpu

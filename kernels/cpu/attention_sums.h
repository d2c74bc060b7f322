// The sums of attention's backward while they are not complete, and where they lie in its workspace.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/tile_gemm.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// More threads than this do not share a backward: each has its part of the workspace.
constexpr int64_t kMaxTeam = 128;

// A thread's sums for the keys of one stream and head at a time. A product adds to whole blocks of rows: zeros where
// there is no key.
struct KeySums {
  Rows<float> keys;    // dk [K, H]
  Rows<float> values;  // dv [K, H]

  KeySums(const AttentionShape& shape, float* rows)
      : keys{rows, shape.row_stride}, values{keys(shape.keys() + kBlockRows), shape.row_stride} {}
  static int64_t rows(int64_t keys) { return 2 * (keys + kBlockRows); }
};

// The sums of one stream and head that those of other streams are added to. A product adds to a whole tile of
// positions, and scores to whole vectors of distances: zeros where there is no such distance.
struct PositionSums {
  float* content_bias;    // du
  float* position_bias;   // dw
  Rows<float> positions;  // dr before the clamp: row e is distance K - 1 - e
  float* by_distance;     // dbias or dgain before the clamp, in the same order; in place of the two before

  PositionSums(const AttentionShape& shape, float* rows)
      : content_bias(rows),
        position_bias(rows + shape.row_stride),
        positions{rows + (2 + kMaxTile) * shape.row_stride, shape.row_stride},
        by_distance(rows + shape.row_stride) {}
  static int64_t elements(const RelativeAttentionExtents& e) {
    const int64_t rows = e.positions > 0 ? e.keys + 2 * kMaxTile + 2 : 1;
    return rows * padded(e.d_head) + (e.biases > 0 ? padded(e.keys) + kMaxTile : 0);
  }
};

// The workspace: the sums of each stream and head, then those of each thread.
struct Workspace {
  float* data;
  int64_t pairs;
  int64_t position_size;
  int64_t key_size;

  int64_t team() const { return std::min(pairs, kMaxTeam); }
  int64_t elements() const { return pairs * position_size + team() * key_size; }
  float* of_pair(int64_t pair) const { return data + pair * position_size; }
  float* of_thread(int64_t thread) const { return of_pair(pairs) + thread * key_size; }
};

inline Workspace workspace_in(float* data, const RelativeAttentionExtents& e) {
  return {.data = data,
          .pairs = e.streams * e.heads,
          .position_size = PositionSums::elements(e),
          .key_size = KeySums::rows(e.keys) * padded(e.d_head)};
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

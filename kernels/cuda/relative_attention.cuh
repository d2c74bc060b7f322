// Shared by all kernels of relative attention: dropping weights, masking scores, storing rows, and their launch.
#pragma once

#include <type_traits>

#include "kernels/cuda/relative_attention_dropout.cuh"
#include "kernels/cuda/relative_attention_inputs.cuh"
#include "kernels/cuda/relative_attention_products.cuh"
#include "kernels/cuda/softmax_sum.cuh"

namespace segue::kernels::cuda {

// The dropout of a kernel's weights, if there is any: drawn for a tile while its rows are on their way, applied later.
template <typename Element>
class WeightDropout {
 public:
  __device__ __forceinline__ explicit WeightDropout(const AttentionInputs<Element>& in)
      : in_(in), random_(in.dropatt.random_of_step()) {}

  // Draws, if it is active, for the warp's queries from first_query on; key_of(row) is the key at column 0.
  template <KeyOrder kOrder, int kColumns, typename KeyOf>
  __device__ __forceinline__ void draw(const HeadPlace& at, int first_query, const KeyOf& key_of) {
    if (!is_active()) return;
    const LaneOfAccumulators lane;
    uint64_t first[2];
    for (int r = 0; r < 2; ++r) {
      const int row = lane.row(2 * r);
      const int64_t element = in_.statistic(at.b, at.n, first_query + row) * in_.keys + key_of(row);
      first[r] = in_.dropatt.first_element + static_cast<uint64_t>(element);
    }
    kept_ = KeptWeights::draw<kOrder, kColumns>(in_.dropatt, random_, first);
  }
  // Multiplies what belongs to the pairs that were drawn for last.
  template <int kColumns>
  __device__ __forceinline__ void apply(Accumulators<kColumns>& values) const {
    if (!is_active()) return;
#pragma unroll
    for (int block = 0; block < kColumns / 8; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) values.value[block][i] *= kept_.keeps(block, i) ? in_.dropatt.scale : 0.0F;
    }
  }

 private:
  __device__ __forceinline__ bool is_active() const { return in_.dropatt.is_drawn || in_.dropatt.scale != 1.0F; }

  const AttentionInputs<Element>& in_;
  RandomSequence random_;
  KeptWeights kept_;
};

// call(kWidth as a constant): the narrowest of the compiled widths that holds d_head.
template <typename Call>
void with_head_width(int64_t d_head, const Call& call) {
  if (d_head <= 32) {
    call(std::integral_constant<int, 32>());
  } else if (d_head <= 64) {
    call(std::integral_constant<int, 64>());
  } else {
    call(std::integral_constant<int, 128>());
  }
}

// Whether each of kRows queries from first_query on surely sees each of kColumns keys, with key_of(row) at column 0:
// where the first query sees the last column's key and the last query the first column's, all see all, unless queries
// have a reach.
template <KeyOrder kOrder, int kRows, int kColumns, typename Element, typename KeyOf>
__device__ __forceinline__ bool surely_see_all(const AttentionInputs<Element>& in, int first_query, const KeyOf& key_of,
                                               SeenByDistance /*seen*/) {
  constexpr int kStep = kOrder == KeyOrder::kAscending ? 1 : -1;
  return in.surely_sees(first_query, key_of(0) + kStep * (kColumns - 1)) &&
         in.surely_sees(first_query + kRows - 1, key_of(kRows - 1));
}
template <KeyOrder kOrder, int kRows, int kColumns, typename Element, typename KeyOf>
__device__ __forceinline__ bool surely_see_all(const AttentionInputs<Element>& in, int /*first_query*/,
                                               const KeyOf& /*key_of*/, SeenByList listed) {
  return listed.has_all() && !in.has_limits();
}

// Calls visit(block, i) for those of a lane's kColumns accumulators whose query, of the warp's from first_query on,
// does not see its key, with key_of(row) at column 0.
template <KeyOrder kOrder, int kColumns, typename Element, typename KeyOf, typename Visit>
__device__ __forceinline__ void visit_unseen(const AttentionInputs<Element>& in, const HeadPlace& at, int first_query,
                                             const KeyOf& key_of, SeenByDistance seen, const Visit& visit) {
  constexpr int kStep = kOrder == KeyOrder::kAscending ? 1 : -1;
  if (surely_see_all<kOrder, 16, kColumns>(in, first_query, key_of, seen)) return;
  const LaneOfAccumulators lane;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = lane.row(2 * r);
    const int query = first_query + row;
    const int farthest = in.farthest_distance(at, query);
    const int nearest = in.nearest_distance(at, query);
#pragma unroll
    for (int block = 0; block < kColumns / 8; ++block) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int j = key_of(row) + kStep * lane.column(block, i);
        const int distance = in.mem_len + query - j;
        if (j < 0 || distance < nearest || distance > farthest) visit(block, 2 * r + i);
      }
    }
  }
}

// The same where the bit of the query's row is not set; some may be visited twice. It is that of a key, or of a
// distance where columns are distances; columns begin at one of their multiples in a schedule's tile, so that they do
// not go beyond a row of bits.
template <KeyOrder kOrder, int kColumns, typename Element, typename KeyOf, typename Visit>
__device__ __forceinline__ void visit_unseen(const AttentionInputs<Element>& in, const HeadPlace& at, int first_query,
                                             const KeyOf& key_of, SeenByList listed, const Visit& visit) {
  static_assert(kListedRows % kColumns == 0);
  if (in.has_limits()) visit_unseen<kOrder, kColumns>(in, at, first_query, key_of, SeenByDistance(), visit);
  if (listed.has_all()) return;
  const LaneOfAccumulators lane;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = lane.row(2 * r);
    const int query = first_query + row;
    const int first = kOrder == KeyOrder::kAscending ? key_of(row) : in.mem_len + query - key_of(row);
    const uint64_t seen = listed.row(query) >> (first % kListedRows + lane.column(0, 0));
#pragma unroll
    for (int block = 0; block < kColumns / 8; ++block) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if ((seen & uint64_t{1} << (block * 8 + i)) == 0) visit(block, 2 * r + i);
      }
    }
  }
}

// Calls visit(value, block, i) with the bias or gain of each of the warp's pairs of queries from first_query on, with
// key_of(row) at column 0.
template <KeyOrder kOrder, int kColumns, typename Element, typename KeyOf, typename Visit>
__device__ __forceinline__ void visit_distances(const AttentionInputs<Element>& in, const HeadPlace& at,
                                                int first_query, const KeyOf& key_of, const Visit& visit) {
  constexpr int kStep = kOrder == KeyOrder::kAscending ? 1 : -1;
  const LaneOfAccumulators lane;
#pragma unroll
  for (int block = 0; block < kColumns / 8; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = lane.row(i);
      const int distance = in.mem_len + first_query + row - key_of(row) - kStep * lane.column(block, i);
      visit(in.at_distance(at.n, distance), block, i);
    }
  }
}

// What the warp's scores have by distance, and -infinity where the query does not see the key. They are yet to be
// scaled.
template <KeyOrder kOrder, ByDistance kTerms, typename Element, int kColumns, typename KeyOf, typename Seen>
__device__ __forceinline__ void finish_scores(const AttentionInputs<Element>& in, const HeadPlace& at, int first_query,
                                              const KeyOf& key_of, Seen seen, Accumulators<kColumns>& scores) {
  if constexpr (kTerms != ByDistance::kNothing) {
    visit_distances<kOrder, kColumns>(in, at, first_query, key_of, [&](float value, int block, int i) {
      float& score = scores.value[block][i];
      score = kTerms == ByDistance::kBiases ? score + in.unscale * value : value * fmaxf(score, 0.0F);
    });
  }
  visit_unseen<kOrder, kColumns>(in, at, first_query, key_of, seen,
                                 [&](int block, int i) { scores.value[block][i] = -INFINITY; });
}

// scale * values, a warp's 16 rows: row a goes to row_of(a), from feature `first` on, nowhere when that is null.
template <int kWidth, typename RowOf>
__device__ __forceinline__ void store_rows(const Accumulators<kWidth>& values, float scale, int d_head,
                                           const RowOf& row_of, int first = 0) {
  const LaneOfAccumulators lane;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    auto* to = row_of(lane.row(i));
    if (to == nullptr) continue;
    const bool is_paired = d_head % 2 == 0 && reinterpret_cast<uintptr_t>(to) % (2 * sizeof(*to)) == 0;
#pragma unroll
    for (int block = 0; block < kWidth / 8; ++block) {
      const int h = first + lane.column(block, i);
      const float pair[2] = {scale * values.value[block][i], scale * values.value[block][i + 1]};
      if (is_paired) {
        if (h < d_head) simt::store(to + h, pair);
        continue;
      }
      for (int k = 0; k < 2; ++k) {
        if (h + k < d_head) to[h + k] = static_cast<std::remove_pointer_t<decltype(to)>>(pair[k]);
      }
    }
  }
}

// call(kWidth, kListed as constants): kListed says whether a schedule lists what is seen.
template <typename Element, typename Call>
void with_width_and_lists(const AttentionInputs<Element>& in, const Call& call) {
  with_head_width(in.d_head, [&](auto width) {
    if (in.keys_of_queries.starts != nullptr) {
      call(width, std::true_type());
    } else {
      call(width, std::false_type());
    }
  });
}

// call(kWidth, kListed, kBand, kTerms as constants): kBand says whether scores have distance terms, kTerms, in place of
// these, what else they have by distance.
template <typename Element, typename Call>
void with_variant(const AttentionInputs<Element>& in, const Call& call) {
  with_width_and_lists(in, [&](auto width, auto listed) {
    using enum ByDistance;
    if (in.positions > 0) {
      call(width, listed, std::true_type(), std::integral_constant<ByDistance, kNothing>());
    } else if (in.terms == kBiases) {
      call(width, listed, std::false_type(), std::integral_constant<ByDistance, kBiases>());
    } else if (in.terms == kGains) {
      call(width, listed, std::false_type(), std::integral_constant<ByDistance, kGains>());
    } else {
      call(width, listed, std::false_type(), std::integral_constant<ByDistance, kNothing>());
    }
  });
}

// Launches these blocks with the threads and the shared memory that Tiles takes.
template <typename Tiles, typename Arguments>
void launch_tiles(Queue& queue, const char* name, const Arguments& args, simt::Launch blocks,
                  void (*kernel)(Arguments)) {
  blocks.threads = Tiles::kBlockThreads;
  blocks.shared_bytes = simt::shared_bytes_of<Tiles>();
  simt::launch(queue.cuda(), name, blocks, kernel, args);
}

}  // namespace segue::kernels::cuda

// Sums over the lanes of a warp, the threads of a block, and the rows of a matrix, each in a fixed order.
#pragma once

#include "kernels/cuda/element.cuh"

namespace segue::simt {

constexpr int kMaxWarps = 32;

struct Sum {
  template <typename T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};

// Every lane receives the result.
template <typename T, typename Combine>
__device__ __forceinline__ T reduce_warp(T value, Combine combine) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value = combine(value, shuffle_xor(value, mask));
  return value;
}

// Every thread receives the result; `identity` changes nothing that it is combined with.
template <typename T, typename Combine>
__device__ __forceinline__ T reduce_block(T value, T identity, Combine combine) {
  auto& of_warps = static_shared<T[kMaxWarps], 0>();
  value = reduce_warp(value, combine);
  sync_block();  // threads may still read the reduction before
  if (lane() == 0) of_warps[warp()] = value;
  sync_block();
  value = lane() < block_threads() / kWarp ? of_warps[lane()] : identity;
  return reduce_warp(value, combine);
}

// A row of a matrix belongs to one warp, kRowsOfBlock of them to a block, or to one whole block.
constexpr int kRowsOfBlock = 4;

inline Launch launch_of_warp_rows(int64_t rows) {
  return {.x = divide_up(rows, kRowsOfBlock), .threads = kRowsOfBlock * kWarp};
}

template <bool kWarpRow>
__device__ __forceinline__ int64_t my_row() {
  if constexpr (!kWarpRow) return block();
  return int64_t{block()} * kRowsOfBlock + warp();
}

// This thread among those of its row, and how many they are.
template <bool kWarpRow>
__device__ __forceinline__ int place_in_row() {
  return kWarpRow ? lane() : thread();
}
template <bool kWarpRow>
__device__ __forceinline__ int places_of_row() {
  return kWarpRow ? kWarp : block_threads();
}

template <bool kWarpRow>
__device__ __forceinline__ float row_sum(float value) {
  if constexpr (kWarpRow) {
    return reduce_warp(value, Sum());
  } else {
    return reduce_block(value, 0.0F, Sum());
  }
}

}  // namespace segue::simt

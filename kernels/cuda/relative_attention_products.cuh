// The products of relative attention in one warp: its 16 queries times a tile of columns, straight and along a band.
//
// A column is a key or a distance. Of the two score products one is straight, its operand's rows being the columns; the
// other is a band: query a and column c need row a - c + kTile - 1 of an operand of 2 * kTile rows, because key and
// distance add up to a constant for each query. The warp computes the kTile + 16 rows its queries touch, writes them
// to memory of its own, and reads them back shifted. With keys as columns the positions are the band; with distances
// as columns the keys are.
#pragma once

#include "kernels/cuda/tile_products.cuh"

namespace segue::kernels::cuda {

// The 2 * kTile rows of a band as a ring: row t lies at (t + base) mod 2 * kTile, so that moving on by a tile
// replaces one half.
template <typename Element, int kWidth>
struct Band {
  static constexpr int kRows = 2 * kTile<Element>;
  Tile<Element, kWidth> tile;
  int base = 0;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit Band(Memory& memory) : tile(memory, kRows) {}

  __device__ __forceinline__ int place(int row) const {
    return (row + base) & (kRows - 1);
  }  // of 16 rows from there on
  __device__ __forceinline__ void turn() { base ^= kTile<Element>; }
};

// A warp's memory for a band's products: 16 rows, each moved on by eight banks, which pairs of four rows then share.
template <typename Element>
inline constexpr int kBandStride = kTile<Element> + 16 + 8;

// That of all warps, a row for each query of the block.
template <typename Element>
struct BandScratch {
  float* of_block;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit BandScratch(Memory& memory)
      : of_block(memory.template take<float>(kTile<Element> * kBandStride<Element>)) {}
  __device__ __forceinline__ float* of_warp() const { return of_block + simt::warp() * 16 * kBandStride<Element>; }
};

// sums += the band's products of rows [row, row + 16) of `a`, shifted to where they belong.
template <typename Element, int kWidth>
__device__ __forceinline__ void multiply_band(Accumulators<kTile<Element>>& sums, const Tile<Element, kWidth>& a,
                                              int row, const Band<Element, kWidth>& band, float* scratch) {
  static_assert(is_power_of_two(Band<Element, kWidth>::kRows));
  const LaneOfAccumulators lane;
  simt::sync_warp();  // the products before have been read
  constexpr int kSteps = kWidth / 16;
  constexpr bool kIsKept = kParts<Element> * kSteps <= 8;  // there are registers for all of the rows
  [[maybe_unused]] constexpr int kBlocksAtATime = kIsKept ? kTile<Element> / 16 + 1 : 1;
  FragmentA<Element> fragments[kIsKept ? kSteps : 1];
  if constexpr (kIsKept) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) load_a(fragments[step], a, row, 16 * step);
  }
#pragma unroll kBlocksAtATime
  for (int column = 0; column < kTile<Element> + 16; column += 16) {
    Accumulators<16> products;
    const int place = band.place(row + column);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      FragmentA<Element>& fragment = fragments[kIsKept ? step : 0];
      if constexpr (!kIsKept) load_a(fragment, a, row, 16 * step);
      multiply_transpose(products, fragment, band.tile, place, 16 * step);
    }
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      for (int i = 0; i < 4; i += 2) {
        store_pair(scratch + lane.row(i) * kBandStride<Element> + column + lane.column(block, i), products.value[block],
                   i);
      }
    }
  }
  simt::sync_warp();
#pragma unroll
  for (int block = 0; block < kTile<Element> / 8; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int shifted = lane.row(i) - lane.column(block, i) + kTile<Element> - 1;
      sums.value[block][i] += scratch[lane.row(i) * kBandStride<Element> + shifted];
    }
  }
}

}  // namespace segue::kernels::cuda

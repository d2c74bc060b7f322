// The products of relative attention in one warp: its 16 queries times a tile of columns, straight and along a band.
//
// A column is a key or a distance. Of the two score products one is straight, its operand's rows being the columns; the
// other is a band: query a and column c need row a - c + kTile - 1 of an operand of 2 * kTile rows, because key and
// distance add up to a constant for each query. The warp computes the rows that its queries touch with some
// columns, 16 more than these are, writes them to memory of its own, and reads them back shifted. With keys as columns
// the positions are the band; with distances as columns the keys are.
#pragma once

#include "kernels/cuda/tile_products.cuh"

namespace segue::kernels::cuda {

// The 2 * kTile rows of a band as a ring: row t lies at (t + base) mod 2 * kTile, so that moving on by a tile
// replaces one half. Without rows where no band is wanted.
template <typename Element, int kWidth>
struct Band {
  static constexpr int kRows = 2 * kTile<Element>;
  Tile<Element, kWidth> tile;
  int base = 0;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit Band(Memory& memory, bool is_wanted = true)
      : tile(memory, is_wanted ? kRows : 0) {}

  // Where 16 rows of the band, from `row` on, lie in the tile.
  __device__ __forceinline__ int place(int row) const { return (row + base) & (kRows - 1); }
  __device__ __forceinline__ void turn() { base ^= kTile<Element>; }
};

// A warp's memory for a band's products, kColumns of the result at a time: 16 rows of kColumns + 16, each moved on by
// eight banks, or by four for fewer columns than 64.
template <int kColumns>
inline constexpr int kBandStride = kColumns + 16 + (kColumns % 64 == 0 ? 8 : 4);

// That of all warps; without a band a float for each of a block's rows.
template <int kColumns, int kWarps>
struct BandScratch {
  float* of_block;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit BandScratch(Memory& memory, bool is_wanted = true)
      : of_block(memory.template take<float>(kWarps * 16 * (is_wanted ? kBandStride<kColumns> : 1))) {}
  __device__ __forceinline__ float* of_warp() const { return of_block + simt::warp() * 16 * kBandStride<kColumns>; }
};

// sums += the band's products of rows [row, row + 16) of `a`, shifted to where they belong: columns from `first` on,
// kAtATime of them at a time.
template <int kAtATime, typename Element, int kWidth, int kColumns>
__device__ __forceinline__ void multiply_band(Accumulators<kColumns>& sums, const Tile<Element, kWidth>& a, int row,
                                              const Band<Element, kWidth>& band, float* scratch, int first = 0) {
  static_assert(is_power_of_two(Band<Element, kWidth>::kRows) && kColumns % kAtATime == 0);
  constexpr int kStride = kBandStride<kAtATime>;
  constexpr int kSteps = kWidth / 16;
  constexpr bool kIsKept = kParts<Element> * kSteps <= 4;  // there are registers for all of the rows
  [[maybe_unused]] constexpr int kBlocksAtATime = kIsKept ? kAtATime / 16 + 1 : 1;
  const LaneOfAccumulators lane;
  FragmentA<Element> fragments[kIsKept ? kSteps : 1];
  if constexpr (kIsKept) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) load_a(fragments[step], a, row, 16 * step);
  }
#pragma unroll
  for (int part = 0; part < kColumns; part += kAtATime) {
    const int band_row = row + kTile<Element> - kAtATime - first - part;
    simt::sync_warp();  // the products before have been read
#pragma unroll kBlocksAtATime
    for (int column = 0; column < kAtATime + 16; column += 16) {
      Accumulators<16> products;
      const int place = band.place(band_row + column);
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        FragmentA<Element>& fragment = fragments[kIsKept ? step : 0];
        if constexpr (!kIsKept) load_a(fragment, a, row, 16 * step);
        multiply_transpose(products, fragment, band.tile, place, 16 * step);
      }
#pragma unroll
      for (int block = 0; block < 2; ++block) {
        for (int i = 0; i < 4; i += 2)
          store_pair(scratch + lane.row(i) * kStride + column + lane.column(block, i), products.value[block], i);
      }
    }
    simt::sync_warp();
#pragma unroll
    for (int block = 0; block < kAtATime / 8; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int shifted = lane.row(i) - lane.column(block, i) + kAtATime - 1;
        sums.value[part / 8 + block][i] += scratch[lane.row(i) * kStride + shifted];
      }
    }
  }
}

}  // namespace segue::kernels::cuda

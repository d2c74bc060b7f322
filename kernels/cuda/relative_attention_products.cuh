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

// Moves the products of a warp's 16 queries with the rows of a band to where they belong. A block of products has eight
// rows of the band. Of query r, column c of the result's block b is product c' = r - c + 7 of the block as far from the
// last as b is from the first, or, from 8 on, product c' - 8 of the one after; one block further for the queries from 8
// on.
class BandShift {
 public:
  __device__ __forceinline__ BandShift() {
    const LanePlace lane;
    is_odd_ = (lane.group + 7) % 2 != 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int mine = lane.pair + (lane.group + 7 - i) % 2;  // of the block's products, the one that this lane gives
      gives_next_[i] = mine < lane.group + 1 - i;
      from_[i] = lane.group * 4 + (lane.group + 7 - lane.pair - i) % 8 / 2;
    }
  }

  // Puts the product first that this lane gives for even columns; to be done once with each block.
  __device__ __forceinline__ void sort(float (&products)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const float first = products[i];
      products[i] = is_odd_ ? products[i + 1] : first;
      products[i + 1] = is_odd_ ? first : products[i + 1];
    }
  }

  // sums += the shifted products of three sorted blocks that follow each other.
  __device__ __forceinline__ void add(float (&sums)[4], const float (&first)[4], const float (&second)[4],
                                      const float (&third)[4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      sums[i] += simt::shuffle(gives_next_[i] ? second[i] : first[i], from_[i]);
      sums[2 + i] += simt::shuffle(gives_next_[i] ? third[2 + i] : second[2 + i], from_[i]);
    }
  }

 private:
  bool is_odd_;
  bool gives_next_[2];  // for even and odd columns
  int from_[2];         // the lanes that give to this one
};

// sums += the band's products of rows [row, row + 16) of `a`, shifted to where they belong: columns from `first` on.
template <typename Element, int kWidth, int kColumns>
__device__ __forceinline__ void multiply_band(Accumulators<kColumns>& sums, const Tile<Element, kWidth>& a, int row,
                                              const Band<Element, kWidth>& band, int first = 0) {
  static_assert(is_power_of_two(Band<Element, kWidth>::kRows));
  constexpr int kBlocks = kColumns / 8;
  constexpr int kSteps = kWidth / 16;
  constexpr bool kIsKept = kParts<Element> * kSteps <= 4;  // there are registers for all of the rows
  const BandShift shift;
  FragmentA<Element> fragments[kIsKept ? kSteps : 1];
  if constexpr (kIsKept) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) load_a(fragments[step], a, row, 16 * step);
  }
  const int band_row = row + kTile<Element> - kColumns - first;
  float before[2][4];  // the last two blocks of products
#pragma unroll
  for (int block = 0; block < kBlocks + 2; block += 2) {
    Accumulators<16> products;
    const int place = band.place(band_row + 8 * block);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      FragmentA<Element>& fragment = fragments[kIsKept ? step : 0];
      if constexpr (!kIsKept) load_a(fragment, a, row, 16 * step);
      multiply_transpose(products, fragment, band.tile, place, 16 * step);
    }
#pragma unroll
    for (auto& of_block : products.value) shift.sort(of_block);
    if (block > 0) {
      shift.add(sums.value[kBlocks + 1 - block], before[0], before[1], products.value[0]);
      shift.add(sums.value[kBlocks - block], before[1], products.value[0], products.value[1]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) before[0][i] = products.value[0][i], before[1][i] = products.value[1][i];
  }
}

}  // namespace segue::kernels::cuda

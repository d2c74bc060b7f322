// Matrix products of one warp between tiles in shared memory, on the tensor cores: bfloat16 as it is, float32 as a sum
// of three bfloat16 parts (24 significant bits), whose six largest products keep the accuracy of float32.
#pragma once

#include "kernels/cuda/element.cuh"

namespace segue::kernels::cuda {

template <typename Element>
inline constexpr int kParts = 3;
template <>
inline constexpr int kParts<BFloat16> = 1;

constexpr bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

// Rows of kWidth elements in shared memory, 16-byte chunks placed so that eight rows at one column lie in different
// banks: permuted within the row where the number of chunks is a power of two, otherwise with rows of an odd number.
template <typename Element, int kWidth>
class Tile {
 public:
  static constexpr int kPerChunk = 16 / static_cast<int>(sizeof(Element));
  static constexpr int kChunks = kWidth / kPerChunk;
  static constexpr bool kPermuted = is_power_of_two(kChunks);
  static constexpr int kStride = kPermuted || kChunks % 2 == 1 ? kWidth : kWidth + kPerChunk;
  static_assert(kWidth % kPerChunk == 0);

  static constexpr int elements(int rows) { return rows * kStride; }

  // Takes its rows from the block's shared memory, or from a layout that only counts.
  template <typename Memory>
  __host__ __device__ __forceinline__ Tile(Memory& memory, int rows)
      : data_(memory.template take<Element>(
            elements(rows), kStride * sizeof(Element) == 128 ? simt::kTileAlignment : simt::kSharedAlignment)) {}

  __device__ __forceinline__ Element* data() const { return data_; }
  __device__ __forceinline__ Element* at(int row, int column) const {
    const int chunk = column / kPerChunk;
    return data_ + row * kStride + (chunk ^ permutation(static_cast<unsigned>(row))) * kPerChunk + column % kPerChunk;
  }

  // at(row + r, column + c) where rows and columns go by 16 and r and c stay below: what depends on r and c alone is
  // the same for many elements, and the rest is constant where row and column are.
  __device__ __forceinline__ Element* in_block(int row, int column, int r, int c) const {
    constexpr int kRound = kChunks < 8 ? kChunks : 8;
    const int first = column / kPerChunk;
    const int chunk = c / kPerChunk;
    const int place = kPermuted
                          ? first / kRound * kRound + (chunk ^ permutation(static_cast<unsigned>(r)) ^ first % kRound)
                          : first + chunk;
    return data_ + row * kStride + r * kStride + place * kPerChunk + c % kPerChunk;
  }

 private:
  static __device__ __forceinline__ int permutation(unsigned row) {
    if constexpr (!kPermuted || kChunks == 1) return 0;
    constexpr unsigned kRowsPerBankRound = kChunks >= 8 ? 1 : 8 / kChunks;
    return static_cast<int>(row / kRowsPerBankRound % (kChunks >= 8 ? 8 : kChunks));
  }

  Element* data_;
};

// Fragments of mma_bf16_16x8x16, one set of registers for each part.
template <typename Element>
struct FragmentA {
  uint32_t part[kParts<Element>][4];
};
template <typename Element>
struct FragmentB {
  uint32_t part[kParts<Element>][2];
};

__device__ __forceinline__ float low_of(uint32_t pair) { return __builtin_bit_cast(float, pair << 16U); }
__device__ __forceinline__ float high_of(uint32_t pair) { return __builtin_bit_cast(float, pair & 0xFFFF0000U); }

// Register `i` of a fragment from the two values it stands for.
template <int kPartsOfValue, int kRegisters>
__device__ __forceinline__ void split(uint32_t (&part)[kPartsOfValue][kRegisters], int i, float low, float high) {
#pragma unroll
  for (int p = 0; p < kPartsOfValue; ++p) {
    part[p][i] = simt::pack_bf16(low, high);
    low -= low_of(part[p][i]);
    high -= high_of(part[p][i]);
  }
}

// c [16, 8] += a [16, 16] · b [16, 8].
__device__ __forceinline__ void multiply(float (&c)[4], const FragmentA<BFloat16>& a, const FragmentB<BFloat16>& b) {
  simt::mma_bf16_16x8x16(c, a.part[0], b.part[0]);
}
__device__ __forceinline__ void multiply(float (&c)[4], const FragmentA<float>& a, const FragmentB<float>& b) {
  simt::mma_bf16_16x8x16(c, a.part[1], b.part[1]);  // the smallest terms first
  simt::mma_bf16_16x8x16(c, a.part[2], b.part[0]);
  simt::mma_bf16_16x8x16(c, a.part[0], b.part[2]);
  simt::mma_bf16_16x8x16(c, a.part[1], b.part[0]);
  simt::mma_bf16_16x8x16(c, a.part[0], b.part[1]);
  simt::mma_bf16_16x8x16(c, a.part[0], b.part[0]);
}

// Where a lane's first value of a fragment lies: row (or column of B) lane / 4, pair lane % 4.
struct LanePlace {
  int group = simt::lane() / 4;
  int pair = 2 * (simt::lane() % 4);
};

// A fragment of the rows [row, row + 16) and columns [k, k + 16) of a tile.
template <int kWidth>
__device__ __forceinline__ void load_a(FragmentA<BFloat16>& a, const Tile<BFloat16, kWidth>& tile, int row, int k) {
  simt::ldmatrix_x4(a.part[0], tile.in_block(row, k, simt::lane() % 16, simt::lane() / 16 * 8));
}
template <int kWidth>
__device__ __forceinline__ void load_a(FragmentA<float>& a, const Tile<float, kWidth>& tile, int row, int k) {
  const LanePlace lane;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float* pair = tile.at(row + lane.group + i % 2 * 8, k + lane.pair + i / 2 * 8);
    split(a.part, i, pair[0], pair[1]);
  }
}

// The same of the tile's transpose: rows [k, k + 16) and columns [row, row + 16) of the tile.
template <int kWidth>
__device__ __forceinline__ void load_a_transposed(FragmentA<BFloat16>& a, const Tile<BFloat16, kWidth>& tile, int row,
                                                  int k) {
  simt::ldmatrix_x4_transposed(
      a.part[0], tile.in_block(k, row, simt::lane() % 8 + simt::lane() / 16 * 8, simt::lane() / 8 % 2 * 8));
}
template <int kWidth>
__device__ __forceinline__ void load_a_transposed(FragmentA<float>& a, const Tile<float, kWidth>& tile, int row,
                                                  int k) {
  const LanePlace lane;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int column = row + lane.group + i % 2 * 8;
    const int first = k + lane.pair + i / 2 * 8;
    split(a.part, i, *tile.at(first, column), *tile.at(first + 1, column));
  }
}

// Fragments of two neighbouring blocks of eight columns of B, where B's column n is the tile's row `row` + n.
template <int kWidth>
__device__ __forceinline__ void load_b(FragmentB<BFloat16> (&b)[2], const Tile<BFloat16, kWidth>& tile, int row,
                                       int k) {
  uint32_t r[4];
  simt::ldmatrix_x4(r, tile.in_block(row, k, simt::lane() % 8 + simt::lane() / 16 * 8, simt::lane() / 8 % 2 * 8));
  b[0].part[0][0] = r[0], b[0].part[0][1] = r[1];
  b[1].part[0][0] = r[2], b[1].part[0][1] = r[3];
}
template <int kWidth>
__device__ __forceinline__ void load_b(FragmentB<float> (&b)[2], const Tile<float, kWidth>& tile, int row, int k) {
  const LanePlace lane;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float* pair = tile.at(row + lane.group + i / 2 * 8, k + lane.pair + i % 2 * 8);
    split(b[i / 2].part, i % 2, pair[0], pair[1]);
  }
}

// The same where B's row is the tile's row `k` on, and B's columns are 16 of the tile's from
// `offset` + column on, `offset` a multiple of 64.
template <int kWidth>
__device__ __forceinline__ void load_b_rows(FragmentB<BFloat16> (&b)[2], const Tile<BFloat16, kWidth>& tile, int k,
                                            int column, int offset = 0) {
  uint32_t r[4];
  simt::ldmatrix_x4_transposed(r, tile.in_block(k, column, simt::lane() % 16, simt::lane() / 16 * 8) + offset);
  b[0].part[0][0] = r[0], b[0].part[0][1] = r[1];
  b[1].part[0][0] = r[2], b[1].part[0][1] = r[3];
}
template <int kWidth>
__device__ __forceinline__ void load_b_rows(FragmentB<float> (&b)[2], const Tile<float, kWidth>& tile, int k,
                                            int column, int offset = 0) {
  const LanePlace lane;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = offset + column + lane.group + i / 2 * 8;
    const int first = k + lane.pair + i % 2 * 8;
    split(b[i / 2].part, i % 2, *tile.at(first, at), *tile.at(first + 1, at));
  }
}

// Two neighbouring blocks of accumulators, [16, 8] each, as the A operand [16, 16] of another product.
template <typename Element>
__device__ __forceinline__ void as_operand(FragmentA<Element>& a, const float (&left)[4], const float (&right)[4]) {
  split(a.part, 0, left[0], left[1]);
  split(a.part, 1, left[2], left[3]);
  split(a.part, 2, right[0], right[1]);
  split(a.part, 3, right[2], right[3]);
}

// A B operand of ones: the product with it sums A's rows.
template <typename Element>
__device__ __forceinline__ FragmentB<Element> ones() {
  FragmentB<Element> b;
#pragma unroll
  for (int i = 0; i < 2; ++i) split(b.part, i, 1.0F, 1.0F);
  return b;
}

}  // namespace segue::kernels::cuda

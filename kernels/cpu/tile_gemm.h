// Products of tiles that already lie in cache: the inner loops of fused attention. Large matrices belong to gemm.h.
//
// c = a · b or c += a · b with a [rows, depth], b [depth, columns], c [rows, columns]. A block of c is kept in
// registers while the depth is walked once: each step loads two vectors of b and broadcasts one element of a per row,
// so that b and c are rows of whole vectors while a may have any strides: the transpose of a tile is the tile with its
// strides exchanged, and costs no copy.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/vector.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

#ifdef __AVX512F__
constexpr int64_t kBlockRows = 8;
constexpr int64_t kBlockVectors = 2;  // at most: 16 sums of 32 registers
#else
constexpr int64_t kBlockRows = 4;
constexpr int64_t kBlockVectors = 3;  // 12 sums of 16 registers; two vectors would be 8, which wait for one another
#endif

// The left operand: element (row, column) is data[row * row_stride + column * column_stride].
struct TileOperand {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 1;

  TileOperand transposed() const { return {data, column_stride, row_stride}; }
};

struct Range {
  int64_t first = 0;
  int64_t count = 0;
};

struct TileGemm {
  int64_t rows = 0;     // rounded up to kBlockRows by the product: a and c hold that many
  int64_t columns = 0;  // a multiple of kLanes
  int64_t depth = 0;
  TileOperand a;
  const float* b = nullptr;
  int64_t b_stride = 0;  // elements from one row to the next
  float* c = nullptr;
  int64_t c_stride = 0;
  bool accumulate = false;  // onto c

  // The same product for some rows of c alone, for some columns of c alone, or with some terms of each sum alone.
  TileGemm for_rows(Range range) const {
    TileGemm part = *this;
    part.rows = range.count;
    part.a.data += range.first * a.row_stride;
    part.c += range.first * c_stride;
    return part;
  }
  TileGemm for_columns(Range range) const {
    TileGemm part = *this;
    part.columns = range.count;
    part.b += range.first;
    part.c += range.first;
    return part;
  }
  TileGemm for_terms(Range range) const {
    TileGemm part = *this;
    part.depth = range.count;
    part.a.data += range.first * a.column_stride;
    part.b += range.first * b_stride;
    return part;
  }
};

// What a product is added to in place of c: rows that lie as those of c do, or c itself, each by its share. Both hold
// as many rows as c.
struct TileAddend {
  const float* data = nullptr;
  const float* shares = nullptr;  // of a row; none: all of it
};

template <int64_t kRows, int64_t kVectors>
using BlockSums = Vector[kRows][kVectors];

// Adds a · b of one block, kRows rows by kVectors vectors.
template <int64_t kRows, int64_t kVectors>
[[gnu::always_inline]] inline void sum_products(TileGemm args, BlockSums<kRows, kVectors>& sums) {
  for (int64_t k = 0; k < args.depth; ++k) {
    Vector right[kVectors];
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) right[v] = load_vector(args.b + v * kLanes);
#pragma GCC unroll 16
    for (int64_t row = 0; row < kRows; ++row) {
      const float left = args.a.data[row * args.a.row_stride];
#pragma GCC unroll 8
      for (int64_t v = 0; v < kVectors; ++v) sums[row][v] += left * right[v];
    }
    args.a.data += args.a.column_stride;
    args.b += args.b_stride;
  }
}

// The whole of one block: sums, and their way to c.
template <int64_t kRows, int64_t kVectors>
[[gnu::always_inline]] inline void multiply_block(const TileGemm& args) {
  BlockSums<kRows, kVectors> sums = {};
  sum_products<kRows, kVectors>(args, sums);
#pragma GCC unroll 16
  for (int64_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) {
      float* to = args.c + row * args.c_stride + v * kLanes;
      store_vector(to, args.accumulate ? load_vector(to) + sums[row][v] : sums[row][v]);
    }
  }
}

// One block of c, or onto what else it is added to. By value: a store to c then cannot change a stride. Functions by
// themselves: inlined, the callers' variables would push the strides of the inner loop out of registers.
template <int64_t kVectors>
[[gnu::noinline]] void tile_gemm_block(TileGemm args) {
  multiply_block<kBlockRows, kVectors>(args);
}

template <int64_t kVectors>
[[gnu::noinline]] void tile_gemm_block(TileGemm args, TileAddend onto) {
  BlockSums<kBlockRows, kVectors> sums = {};
  sum_products<kBlockRows, kVectors>(args, sums);
#pragma GCC unroll 8
  for (int64_t row = 0; row < kBlockRows; ++row) {
    const float share = onto.shares != nullptr ? onto.shares[row] : 1.0F;
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) {
      const int64_t at = row * args.c_stride + v * kLanes;
      store_vector(args.c + at, share * load_vector(onto.data + at) + sums[row][v]);
    }
  }
}

// Of so many vectors of a row those of the next block: no single one is left behind two or more.
constexpr int64_t next_vectors(int64_t vectors) {
  return vectors == kBlockVectors + 1 ? std::max<int64_t>(kBlockVectors - 1, 1) : std::min(vectors, kBlockVectors);
}

// multiply.template operator()<vectors>(block, row, column) for every block of c, which begins at that row and column.
template <typename Multiply>
void for_each_block(const TileGemm& args, const Multiply& multiply) {
  TileGemm block = args;
  for (int64_t row = 0; row < args.rows; row += kBlockRows) {
    block.a.data = args.a.data + row * args.a.row_stride;
    for (int64_t column = 0; column < args.columns;) {
      block.b = args.b + column;
      block.c = args.c + row * args.c_stride + column;
      const int64_t vectors = next_vectors((args.columns - column) / kLanes);
      if (vectors == 1) {
        multiply.template operator()<1>(block, row, column);
      } else if (vectors == kBlockVectors) {
        multiply.template operator()<kBlockVectors>(block, row, column);
      } else {
        multiply.template operator()<2>(block, row, column);
      }
      column += vectors * kLanes;
    }
  }
}

// before_block(multiplications) is called before each block.
template <typename BeforeBlock>
void tile_gemm(const TileGemm& args, BeforeBlock&& before_block) {
  for_each_block(args, [&]<int64_t kVectors>(const TileGemm& block, int64_t /*row*/, int64_t /*column*/) {
    before_block(kBlockRows * kVectors * kLanes * args.depth);
    tile_gemm_block<kVectors>(block);
  });
}
inline void tile_gemm(const TileGemm& args) {
  tile_gemm(args, [](int64_t /*multiplications*/) {});
}

// c = onto + a · b, whatever args.accumulate says.
template <typename BeforeBlock>
void tile_gemm_onto(TileAddend onto, const TileGemm& args, BeforeBlock&& before_block) {
  for_each_block(args, [&]<int64_t kVectors>(const TileGemm& block, int64_t row, int64_t column) {
    const TileAddend to_block{onto.data + row * args.c_stride + column,
                              onto.shares == nullptr ? nullptr : onto.shares + row};
    before_block(kBlockRows * kVectors * kLanes * args.depth);
    tile_gemm_block<kVectors>(block, to_block);
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

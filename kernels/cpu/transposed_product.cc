#include "kernels/cpu/transposed_product.h"

#include <omp.h>

#include <algorithm>
#include <array>

#include "kernels/cpu/tile_gemm.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

// A block of c, in registers: 12 sums of 16 registers with AVX2, 24 of 32 with AVX-512.
#ifdef __AVX512F__
constexpr int64_t kRows = 12;
#else
constexpr int64_t kRows = 6;
#endif
constexpr int64_t kVectors = 2;
constexpr int64_t kColumns = kVectors * kLanes;

constexpr int64_t kTerms = 256;               // of each sum at a time
constexpr int64_t kRowsAtATime = 32 * kRows;  // of c: a's block, 192 KiB with AVX2
constexpr int64_t kColumnsAtATime = 512;      // of c: b's block, 512 KiB

// A block of a or b as it is copied: panels of some columns, a term's after those of the one before. The last term is
// stored as whole vectors, too, which may reach beyond.
template <int64_t kWidth>
constexpr int64_t panel_floats(int64_t terms) {
  return kWidth * terms + padded(kWidth) - kWidth;
}
constexpr int64_t kFloatsOfA = kRowsAtATime / kRows * panel_floats<kRows>(kTerms);
constexpr int64_t kFloatsOfB = kColumnsAtATime / kColumns * panel_floats<kColumns>(kTerms);
constexpr int64_t kFloats = kFloatsOfA + kFloatsOfB;  // of a thread

// Where a block begins in a or b, and how many columns these have from there on.
struct Source {
  const float* data;
  int64_t stride;
  int64_t columns;
};

// A few terms at a time: reads then go along the rows of the source, and writes along the panels. Columns that are not
// there are zeros.
template <int64_t kWidth>
void copy_to_panels(const Source& from, int64_t terms, int64_t columns, float* panels) {
  constexpr int64_t kTermsAtATime = 8;
  for (int64_t first = 0; first < terms; first += kTermsAtATime) {
    const int64_t end = std::min(terms, first + kTermsAtATime);
    float* panel = panels;
    for (int64_t column = 0; column < columns; column += kWidth) {
      const float* const data = from.data + column;
      const int64_t present = from.columns - column;
      if (present >= padded(kWidth)) {
        for (int64_t term = first; term < end; ++term)
          copy_vectors(data + term * from.stride, kWidth, panel + term * kWidth);
      } else {
        for (int64_t term = first; term < end; ++term)
          for (int64_t i = 0; i < kWidth; ++i)
            panel[term * kWidth + i] = i < present ? data[term * from.stride + i] : 0.0F;
      }
      panel += panel_floats<kWidth>(terms);
    }
  }
}

struct Panels {
  const float* a;
  const float* b;
  int64_t terms;
};

struct Block {
  float* c;
  int64_t stride;
  bool accumulate;
};

// The strides of panels are constants, for the inner loop.
[[gnu::noinline]] void multiply_panels(Panels panels, Block block) {
  multiply_block<kRows, kVectors>({.depth = panels.terms,
                                   .a = {.data = panels.a, .row_stride = 1, .column_stride = kRows},
                                   .b = panels.b,
                                   .b_stride = kColumns,
                                   .c = block.c,
                                   .c_stride = block.stride,
                                   .accumulate = block.accumulate});
}

// Of a block at an edge of c.
void multiply_part(Panels panels, int64_t rows, int64_t columns, Block block) {
  std::array<float, kRows * kColumns> whole;
  multiply_panels(panels, {.c = whole.data(), .stride = kColumns, .accumulate = false});
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = whole.data() + row * kColumns;
    float* to = block.c + row * block.stride;
    for (int64_t i = 0; i < columns; ++i) to[i] = block.accumulate ? to[i] + from[i] : from[i];
  }
}

void multiply_blocks(Panels first, int64_t rows, int64_t columns, const Block& c) {
  Panels panels = first;
  for (int64_t j = 0; j < columns; j += kColumns) {
    panels.a = first.a;
    for (int64_t i = 0; i < rows; i += kRows) {
      const Block block{.c = c.c + i * c.stride + j, .stride = c.stride, .accumulate = c.accumulate};
      if (i + kRows <= rows && j + kColumns <= columns) {
        multiply_panels(panels, block);
      } else {
        multiply_part(panels, std::min(kRows, rows - i), std::min(kColumns, columns - j), block);
      }
      panels.a += panel_floats<kRows>(first.terms);
    }
    panels.b += panel_floats<kColumns>(first.terms);
  }
}

// By one thread, with kFloats of its own.
void multiply(const Gemm& args, float* scratch) {
  const auto* a = static_cast<const float*>(args.a);
  const auto* b = static_cast<const float*>(args.b);
  for (int64_t column = 0; column < args.n; column += kColumnsAtATime) {
    const int64_t columns = std::min(kColumnsAtATime, args.n - column);
    for (int64_t term = 0; term < args.k; term += kTerms) {
      const Panels panels{scratch, scratch + kFloatsOfA, std::min(kTerms, args.k - term)};
      copy_to_panels<kColumns>({b + term * args.b_stride + column, args.b_stride, args.n - column}, panels.terms,
                               columns, scratch + kFloatsOfA);
      for (int64_t row = 0; row < args.m; row += kRowsAtATime) {
        const int64_t rows = std::min(kRowsAtATime, args.m - row);
        copy_to_panels<kRows>({a + term * args.a_stride + row, args.a_stride, args.m - row}, panels.terms, rows,
                              scratch);
        multiply_blocks(panels, rows, columns,
                        {.c = static_cast<float*>(args.c) + row * args.c_stride + column,
                         .stride = args.c_stride,
                         .accumulate = args.accumulate || term > 0});
      }
    }
  }
}

// Of an extent, in whole blocks.
Range part_of(int64_t extent, int64_t block, int64_t part, int64_t parts) {
  const int64_t blocks = (extent + block - 1) / block;
  const int64_t first = blocks * part / parts * block;
  return {first, std::min(extent, blocks * (part + 1) / parts * block) - first};
}

// Into how many parts the rows of c are cut, and its columns for the other threads: so that the least is copied.
int64_t parts_of_rows(const Gemm& args, int64_t threads) {
  int64_t best = 1;
  const auto copied = [&](int64_t parts) { return args.m / parts + args.n * parts / threads; };
  for (int64_t parts = 2; parts <= threads; ++parts)
    if (threads % parts == 0 && copied(parts) < copied(best)) best = parts;
  return best;
}

float* scratch_of(const Queue& queue, int64_t thread) {
  return queue.products().scratch(queue.threads() * kFloats) + thread * kFloats;
}

}  // namespace

void transposed_product(const Queue& queue, const Gemm& args) {
  const int64_t threads = threads_for(queue, args);
  const int64_t of_rows = parts_of_rows(args, threads);
  const int64_t of_columns = threads / of_rows;
  float* const scratch = scratch_of(queue, 0);
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(threads))
  for (int64_t part = 0; part < threads; ++part) {
    const Range rows = part_of(args.m, kRows, part / of_columns, of_rows);
    const Range columns = part_of(args.n, kColumns, part % of_columns, of_columns);
    Gemm share = args;
    share.m = rows.count;
    share.n = columns.count;
    share.a = static_cast<const float*>(args.a) + rows.first;
    share.b = static_cast<const float*>(args.b) + columns.first;
    share.c = static_cast<float*>(args.c) + rows.first * args.c_stride + columns.first;
    multiply(share, scratch + part * kFloats);
  }
}

void transposed_product_in_thread(const Queue& queue, const Gemm& args) {
  multiply(args, scratch_of(queue, omp_get_thread_num()));
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

// Fragments gathered from the lanes, multiplied, and dealt out again.
#include "tests/simt/matrix_fragments.h"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/simt/shared_memory.h"

namespace segue::simt::emulation {

namespace {

struct MatrixLoad {
  const void* row;
  Fragment<uint32_t, 4> received;
};

// It is nowhere said which lane reads an element: the one that gives the row's address, or the one that receives it. So
// both do.
uint32_t element_of(void* const (&lanes)[kWarp], int receiver, int matrix, int row, int column) {
  uint16_t element = 0;
  const int giver = 8 * matrix + row;
  const void* from = static_cast<const char*>(static_cast<const MatrixLoad*>(lanes[giver])->row) + 2 * column;
  const int first = place().thread / kWarp * kWarp;
  for (const int lane : {giver, receiver}) shared_memory::read(first + lane, from, sizeof(element));
  std::memcpy(&element, from, sizeof(element));
  return element;
}

template <bool kTransposed>
void deal_matrices(void* const (&lanes)[kWarp]) {
  for (int lane = 0; lane < kWarp; ++lane) {
    const int a = lane / 4;
    const int b = 2 * (lane % 4);
    const auto element = [&](int matrix, int row, int column) {
      return kTransposed ? element_of(lanes, lane, matrix, column, row) : element_of(lanes, lane, matrix, row, column);
    };
    for (int matrix = 0; matrix < 4; ++matrix)
      static_cast<MatrixLoad*>(lanes[lane])->received.part[matrix] = element(matrix, a, b) | element(matrix, a, b + 1)
                                                                                                 << 16U;
  }
}

constexpr int kRows = 16;
constexpr int kColumns = 8;
constexpr int kDepth = 16;

struct MatrixProduct {
  Fragment<float, 4> c;
  Fragment<uint32_t, 4> a;
  Fragment<uint32_t, 2> b;
};

using Columns = float __attribute__((vector_size(kColumns * sizeof(float))));

// A warp's operands and sums, out of its lanes' registers.
struct Matrices {
  float a[kRows][kDepth];
  Columns b[kDepth];
  Columns c[kRows];
};

float low_of(uint32_t pair) { return std::bit_cast<float>(pair << 16U); }
float high_of(uint32_t pair) { return std::bit_cast<float>(pair & 0xFFFF0000U); }

void gather(void* const (&lanes)[kWarp], Matrices& m) {
  for (int lane = 0; lane < kWarp; ++lane) {
    const auto& [c, a, b] = *static_cast<const MatrixProduct*>(lanes[lane]);
    const int group = lane / 4;
    const int pair = 2 * (lane % 4);
    for (int i = 0; i < 4; ++i) {
      const uint64_t both = uint64_t{a.part[i] << 16U} | uint64_t{a.part[i] & 0xFFFF0000U} << 32U;
      std::memcpy(&m.a[group + i % 2 * 8][pair + i / 2 * 8], &both, sizeof(both));
    }
    for (int i = 0; i < 4; ++i) m.c[group + i / 2 * 8][pair + i % 2] = c.part[i];
    for (int i = 0; i < 2; ++i) {
      m.b[pair + i * 8][group] = low_of(b.part[i]);
      m.b[pair + i * 8 + 1][group] = high_of(b.part[i]);
    }
  }
}

void deal(void* const (&lanes)[kWarp], const Matrices& m) {
  for (int lane = 0; lane < kWarp; ++lane) {
    float* c = static_cast<MatrixProduct*>(lanes[lane])->c.part;
    for (int i = 0; i < 4; ++i) c[i] = m.c[lane / 4 + i / 2 * 8][2 * (lane % 4) + i % 2];
  }
}

void add_rounded(Matrices& m) {
  for (int row = 0; row < kRows; ++row) {
    for (int k = 0; k < kDepth; ++k) m.c[row] += m.a[row][k] * m.b[k];
  }
}

using Units = int32_t __attribute__((vector_size(kColumns * sizeof(int32_t))));
constexpr int kAddends = 8;  // that are added at once
constexpr int kFractionBits = 23;
constexpr int32_t kInfinity = 255 << kFractionBits;  // anything from there on is not finite

Units magnitude_of(Columns x) { return std::bit_cast<Units>(x) & ~(1U << 31U); }
Units larger(Units a, Units b) { return a > b ? a : b; }

// Towards zero, to 24 bits; of less than 28.
Columns truncated(Units units) {
  Units magnitude = units < 0 ? -units : units;
  Units superfluous{};
  for (const int bits : {24, 25, 26, 27}) superfluous -= magnitude >> bits != 0;
  magnitude = magnitude >> superfluous << superfluous;
  return __builtin_convertvector(units < 0 ? -magnitude : magnitude, Columns);
}

// sums += terms in multiples of the last place of the largest.
void add_truncated(const Columns (&terms)[kAddends], Columns& sums) {
  Units largest = magnitude_of(sums);
  for (const Columns& term : terms) largest = larger(largest, magnitude_of(term));
  const Units unit = larger(largest >> kFractionBits, Units{} + kFractionBits + 1) - kFractionBits;
  const auto per_unit = std::bit_cast<Columns>((254 - unit) << kFractionBits);
  const Units are_finite = largest < kInfinity;
  const auto in_units = [&](Columns x) {
    return __builtin_convertvector(are_finite ? x * per_unit : Columns{}, Units);
  };
  Units units = in_units(sums);
  Columns plain = sums;
  for (const Columns& term : terms) {
    units += in_units(term);
    plain += term;
  }
  sums = are_finite ? truncated(units) * std::bit_cast<Columns>(unit << kFractionBits) : plain;
}

void add_truncated(Matrices& m) {
  for (int row = 0; row < kRows; ++row) {
    for (int first = 0; first < kDepth; first += kAddends) {
      Columns terms[kAddends];
      for (int k = 0; k < kAddends; ++k) terms[k] = m.a[row][first + k] * m.b[first + k];
      add_truncated(terms, m.c[row]);
    }
  }
}

bool sums_are_truncated() {
  const char* text = std::getenv("SEGUE_SIMT_SUMS");
  if (text == nullptr) return false;
  if (text != std::string_view("truncated")) fail(fmt::format("SEGUE_SIMT_SUMS={}: expected truncated", text));
  return true;
}

void multiply(void* const (&lanes)[kWarp]) {
  static const bool truncates = sums_are_truncated();
  Matrices m;
  gather(lanes, m);
  truncates ? add_truncated(m) : add_rounded(m);
  deal(lanes, m);
}

}  // namespace

Fragment<uint32_t, 4> load_matrices(const void* shared_row, Transposed transposed, const CallSite& site) {
  if (reinterpret_cast<uintptr_t>(shared_row) % 16 != 0) fail("ldmatrix: row not aligned to 16 bytes");
  MatrixLoad mine{shared_row, {}};
  if (transposed == Transposed::kYes) {
    meet_warp("ldmatrix transposed", site, &mine, deal_matrices<true>);
  } else {
    meet_warp("ldmatrix", site, &mine, deal_matrices<false>);
  }
  return mine.received;
}

Fragment<float, 4> multiply_matrices(Fragment<float, 4> c, Fragment<uint32_t, 4> a, Fragment<uint32_t, 2> b,
                                     const CallSite& site) {
  MatrixProduct mine{c, a, b};
  meet_warp("mma", site, &mine, multiply);
  return mine.c;
}

}  // namespace segue::simt::emulation

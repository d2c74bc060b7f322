// Fragments gathered from the lanes, multiplied, and dealt out again.
#include "tests/simt/matrix_fragments.h"

#include <bit>
#include <cstring>

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

void add(Matrices& m) {
  for (int row = 0; row < kRows; ++row) {
    for (int k = 0; k < kDepth; ++k) m.c[row] += m.a[row][k] * m.b[k];
  }
}

void multiply(void* const (&lanes)[kWarp]) {
  Matrices m;
  gather(lanes, m);
  add(m);
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

// Fragments gathered from the lanes, multiplied, and dealt out again.
#include "tests/simt/matrix_fragments.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/bfloat16.h"
#include "tests/simt/emulator.h"

namespace segue::simt::emulation {

namespace {

struct MatrixLoad {
  const void* row;
  uint32_t (*fragment)[4];
};

uint32_t element_of(void* const (&lanes)[kWarp], int matrix, int row, int column) {
  uint16_t element = 0;
  const void* begin = static_cast<const MatrixLoad*>(lanes[8 * matrix + row])->row;
  std::memcpy(&element, static_cast<const char*>(begin) + 2 * column, sizeof(element));
  return element;
}

template <bool kTransposed>
void deal_matrices(void* const (&lanes)[kWarp]) {
  for (int lane = 0; lane < kWarp; ++lane) {
    const int a = lane / 4;
    const int b = 2 * (lane % 4);
    for (int matrix = 0; matrix < 4; ++matrix) {
      const uint32_t low = kTransposed ? element_of(lanes, matrix, b, a) : element_of(lanes, matrix, a, b);
      const uint32_t high = kTransposed ? element_of(lanes, matrix, b + 1, a) : element_of(lanes, matrix, a, b + 1);
      (*static_cast<MatrixLoad*>(lanes[lane])->fragment)[matrix] = low | high << 16U;
    }
  }
}

struct MatrixProduct {
  float (*c)[4];
  const uint32_t (*a)[4];
  const uint32_t (*b)[2];
};

float half_of(uint32_t pair, int which) {
  return static_cast<float>(std::bit_cast<BFloat16>(static_cast<uint16_t>(which == 0 ? pair & 0xFFFFU : pair >> 16U)));
}

// In which lane, register and half an element lies: the inverse of the layouts.
float a_element(void* const (&lanes)[kWarp], int row, int k) {
  const auto* owner = static_cast<const MatrixProduct*>(lanes[row % 8 * 4 + k % 8 / 2]);
  return half_of((*owner->a)[row / 8 + k / 8 * 2], k % 2);
}
float b_element(void* const (&lanes)[kWarp], int k, int column) {
  const auto* owner = static_cast<const MatrixProduct*>(lanes[column * 4 + k % 8 / 2]);
  return half_of((*owner->b)[k / 8], k % 2);
}

void multiply(void* const (&lanes)[kWarp]) {
  std::array<std::array<float, 16>, 16> a;
  std::array<std::array<float, 16>, 8> b;
  for (size_t k = 0; k < 16; ++k) {
    for (size_t row = 0; row < 16; ++row) a[row][k] = a_element(lanes, static_cast<int>(row), static_cast<int>(k));
    for (size_t column = 0; column < 8; ++column)
      b[column][k] = b_element(lanes, static_cast<int>(k), static_cast<int>(column));
  }
  for (size_t row = 0; row < 16; ++row) {
    for (size_t column = 0; column < 8; ++column) {
      float& c = (*static_cast<MatrixProduct*>(lanes[row % 8 * 4 + column / 2])->c)[column % 2 + row / 8 * 2];
      for (size_t k = 0; k < 16; ++k) c += a[row][k] * b[column][k];
    }
  }
}

}  // namespace

void load_matrices(uint32_t (&r)[4], const void* shared_row, Transposed transposed) {
  if (reinterpret_cast<uintptr_t>(shared_row) % 16 != 0) fail("ldmatrix: row not aligned to 16 bytes");
  MatrixLoad mine{shared_row, &r};
  if (transposed == Transposed::kYes) {
    meet_warp("ldmatrix transposed", &mine, deal_matrices<true>);
  } else {
    meet_warp("ldmatrix", &mine, deal_matrices<false>);
  }
}

void multiply_matrices(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  MatrixProduct mine{&c, &a, &b};
  meet_warp("mma", &mine, multiply);
}

}  // namespace segue::simt::emulation

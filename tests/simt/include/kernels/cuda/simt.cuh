// What a kernel may ask of the machine, emulated on the processor: stands in for the header of the same name in the
// sources, which says what each of these does.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/bfloat16.h"
#include "kernels/cuda/queue.h"
#include "tests/simt/emulator.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

// Of CUDA's mathematical functions, the one the processor's library lacks.
inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }

namespace segue::simt {

inline constexpr int kWarp = emulation::kWarp;

inline int thread() { return emulation::place().thread; }
inline int block_threads() { return emulation::grid().threads; }
inline int lane() { return thread() % kWarp; }
inline int warp() { return thread() / kWarp; }
inline int block() { return emulation::place().block_x; }
inline int block_y() { return emulation::place().block_y; }
inline int block_z() { return emulation::place().block_z; }
inline int grid_size() { return static_cast<int>(emulation::grid().x); }

inline void sync_block() { emulation::wait_for_block(); }
inline void sync_warp() {
  emulation::meet_warp("sync_warp", nullptr, [](void* const(&)[kWarp]) {});
}

namespace detail {

template <typename T>
struct Shuffled {
  T value;
  int source;
  T received;
};

template <typename T>
T exchange(const char* operation, T value, int source) {
  Shuffled<T> mine{value, source, value};
  emulation::meet_warp(operation, &mine, [](void* const(&lanes)[kWarp]) {
    for (void* lane : lanes) {
      auto& to = *static_cast<Shuffled<T>*>(lane);
      to.received = static_cast<Shuffled<T>*>(lanes[to.source])->value;
    }
  });
  return mine.received;
}

// Any form of voting: every lane receives the ballot.
struct Vote {
  bool predicate;
  unsigned ballot;
};

}  // namespace detail

template <typename T>
T shuffle(T value, int source_lane) {
  return detail::exchange("shuffle", value, source_lane & (kWarp - 1));
}
template <typename T>
T shuffle_xor(T value, int mask) {
  return detail::exchange("shuffle_xor", value, (lane() ^ mask) & (kWarp - 1));
}
// A lane past the end receives its own.
template <typename T>
T shuffle_down(T value, int delta) {
  return detail::exchange("shuffle_down", value, lane() + delta < kWarp ? lane() + delta : lane());
}

inline unsigned ballot(bool predicate) {
  detail::Vote mine{predicate, 0};
  emulation::meet_warp("ballot", &mine, [](void* const(&lanes)[kWarp]) {
    unsigned bits = 0;
    for (int l = 0; l < kWarp; ++l) bits |= static_cast<detail::Vote*>(lanes[l])->predicate ? 1U << l : 0U;
    for (void* lane : lanes) static_cast<detail::Vote*>(lane)->ballot = bits;
  });
  return mine.ballot;
}
inline bool any(bool predicate) { return ballot(predicate) != 0; }
inline bool all(bool predicate) { return ballot(predicate) == ~0U; }

// Threads change only where they wait, so these are atomic as they stand.
inline float atomic_add(float* at, float value) {
  const float before = *at;
  *at = before + value;
  return before;
}
inline int atomic_add(int* at, int value) {
  const int before = *at;
  *at = before + value;
  return before;
}
inline unsigned atomic_max(unsigned* at, unsigned value) {
  const unsigned before = *at;
  *at = std::max(before, value);
  return before;
}

template <typename T, int kTag>
T& static_shared() {
  static const char key = 0;
  return *static_cast<T*>(emulation::static_shared(&key, sizeof(T)));
}

inline constexpr int64_t kSharedAlignment = 128;
constexpr int64_t shared_piece(int64_t bytes) {
  return (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

class SharedMemory {
 public:
  template <typename T>
  T* take(int count) {
    return static_cast<T*>(emulation::take_shared(static_cast<size_t>(count) * sizeof(T)));
  }
};

class SharedLayout {
 public:
  template <typename T>
  constexpr SharedLayout& take(int count) {
    bytes_ += shared_piece(static_cast<int64_t>(count) * static_cast<int64_t>(sizeof(T)));
    return *this;
  }
  constexpr int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

inline void async_copy_16(void* shared, const void* global, bool valid) {
  emulation::start_copy(shared, global, 16, valid);
}
inline void async_commit() { emulation::commit_copies(); }
template <int kPending>
void async_wait() {
  emulation::wait_for_copies(kPending);
}

namespace detail {

struct MatrixLoad {
  const void* row;
  uint32_t (*fragment)[4];
};

inline uint16_t element_of(void* const (&lanes)[kWarp], int matrix, int row, int column) {
  uint16_t element = 0;
  const void* begin = static_cast<const MatrixLoad*>(lanes[8 * matrix + row])->row;
  std::memcpy(&element, static_cast<const char*>(begin) + 2 * column, sizeof(element));
  return element;
}

template <bool kTransposed>
void load_matrices(uint32_t (&r)[4], const void* shared_row) {
  if (reinterpret_cast<uintptr_t>(shared_row) % 16 != 0) emulation::fail("ldmatrix: row not aligned to 16 bytes");
  MatrixLoad mine{shared_row, &r};
  emulation::meet_warp(kTransposed ? "ldmatrix transposed" : "ldmatrix", &mine, [](void* const(&lanes)[kWarp]) {
    for (int l = 0; l < kWarp; ++l) {
      for (int matrix = 0; matrix < 4; ++matrix) {
        const int a = l / 4;
        const int b = 2 * (l % 4);
        const uint32_t low = kTransposed ? element_of(lanes, matrix, b, a) : element_of(lanes, matrix, a, b);
        const uint32_t high = kTransposed ? element_of(lanes, matrix, b + 1, a) : element_of(lanes, matrix, a, b + 1);
        (*static_cast<MatrixLoad*>(lanes[l])->fragment)[matrix] = low | high << 16U;
      }
    }
  });
}

struct MatrixProduct {
  float (*c)[4];
  const uint32_t (*a)[4];
  const uint32_t (*b)[2];
};

inline float half_of(uint32_t pair, int which) {
  return static_cast<float>(std::bit_cast<BFloat16>(static_cast<uint16_t>(which == 0 ? pair & 0xFFFFU : pair >> 16U)));
}

// Fragment element (row, column) is in which lane, register and half: the inverse of the layouts in the header.
inline float a_element(void* const (&lanes)[kWarp], int row, int k) {
  const auto* owner = static_cast<const MatrixProduct*>(lanes[(row % 8) * 4 + (k % 8) / 2]);
  return half_of((*owner->a)[(row / 8) + 2 * (k / 8)], k % 2);
}
inline float b_element(void* const (&lanes)[kWarp], int k, int column) {
  const auto* owner = static_cast<const MatrixProduct*>(lanes[column * 4 + (k % 8) / 2]);
  return half_of((*owner->b)[k / 8], k % 2);
}

inline void multiply(void* const (&lanes)[kWarp]) {
  std::array<std::array<float, 16>, 16> a;
  std::array<std::array<float, 16>, 8> b;
  for (int k = 0; k < 16; ++k) {
    for (int row = 0; row < 16; ++row) a[row][k] = a_element(lanes, row, k);
    for (int column = 0; column < 8; ++column) b[column][k] = b_element(lanes, k, column);
  }
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      auto* owner = static_cast<MatrixProduct*>(lanes[(row % 8) * 4 + column / 2]);
      float& c = (*owner->c)[column % 2 + 2 * (row / 8)];
      for (int k = 0; k < 16; ++k) c += a[row][k] * b[column][k];
    }
  }
}

}  // namespace detail

inline void ldmatrix_x4(uint32_t (&r)[4], const void* shared_row) { detail::load_matrices<false>(r, shared_row); }
inline void ldmatrix_x4_transposed(uint32_t (&r)[4], const void* shared_row) {
  detail::load_matrices<true>(r, shared_row);
}

inline void mma_bf16_16x8x16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  detail::MatrixProduct mine{&c, &a, &b};
  emulation::meet_warp("mma", &mine, detail::multiply);
}

inline uint32_t pack_bf16(float low, float high) {
  return static_cast<uint32_t>(BFloat16(low).bits) | static_cast<uint32_t>(BFloat16(high).bits) << 16U;
}

inline float exp2_approx(float x) { return std::exp2(x); }

struct Launch {
  int64_t x = 1;
  int y = 1;
  int z = 1;
  int threads = kWarp;
  int64_t shared_bytes = 0;
};

template <typename... Parameters, typename... Arguments>
void launch(cuda::Queue&, const char* name, const Launch& shape, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  const emulation::Grid grid{.kernel = name,
                             .x = shape.x,
                             .y = shape.y,
                             .z = shape.z,
                             .threads = shape.threads,
                             .shared_bytes = shape.shared_bytes};
  emulation::run(grid, [&] { kernel(arguments...); });
}

}  // namespace segue::simt

// The machine as kernels see it, emulated on the processor: stands in for the header of the same name in the sources,
// which says what each of these does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/bfloat16.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/queue.h"
#include "tests/simt/emulator.h"
#include "tests/simt/matrix_fragments.h"
#include "tests/simt/queue_work.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

// The one mathematical function of CUDA that the processor's library lacks.
inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }

namespace segue::simt {

inline int thread() { return emulation::place().thread; }
inline int block_threads() { return emulation::grid().threads; }
inline int lane() { return thread() % kWarp; }
inline int warp() { return thread() / kWarp; }
inline int block() { return emulation::place().block_x; }
inline int block_y() { return emulation::place().block_y; }
inline int block_z() { return emulation::place().block_z; }
inline int grid_size() { return static_cast<int>(emulation::grid().x); }

using emulation::CallSite;  // which the kernels' sources leave to its default

inline void sync_block(const CallSite& site = CallSite::current()) { emulation::wait_for_block(site); }
inline void sync_warp() { emulation::wait_for_warp(); }

namespace detail {

template <typename T>
struct Shuffled {
  T value;
  int source;
  T received;
};

template <typename T>
T exchange(const char* operation, const CallSite& site, T value, int source) {
  Shuffled<T> mine{value, source, value};
  emulation::meet_warp(operation, site, &mine, [](void* const(&lanes)[kWarp]) {
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
T shuffle(T value, int source_lane, const CallSite& site = CallSite::current()) {
  return detail::exchange("shuffle", site, value, source_lane & (kWarp - 1));
}
template <typename T>
T shuffle_xor(T value, int mask, const CallSite& site = CallSite::current()) {
  return detail::exchange("shuffle_xor", site, value, (lane() ^ mask) & (kWarp - 1));
}

inline unsigned ballot(bool predicate, const CallSite& site = CallSite::current()) {
  detail::Vote mine{predicate, 0};
  emulation::meet_warp("ballot", site, &mine, [](void* const(&lanes)[kWarp]) {
    unsigned bits = 0;
    for (int l = 0; l < kWarp; ++l) bits |= static_cast<detail::Vote*>(lanes[l])->predicate ? 1U << l : 0U;
    for (void* lane : lanes) static_cast<detail::Vote*>(lane)->ballot = bits;
  });
  return mine.ballot;
}
inline bool any(bool predicate, const CallSite& site = CallSite::current()) { return ballot(predicate, site) != 0; }
inline bool all(bool predicate, const CallSite& site = CallSite::current()) { return ballot(predicate, site) == ~0U; }

template <typename T, int kTag>
T& static_shared() {
  static const char key = 0;
  return *static_cast<T*>(emulation::static_shared(&key, sizeof(T)));
}

class SharedMemory {
 public:
  template <typename T>
  T* take(int count, int64_t alignment = kSharedAlignment) {
    return static_cast<T*>(emulation::take_shared(static_cast<size_t>(count) * sizeof(T), alignment));
  }
};

inline void async_copy_16(void* shared, const void* global, bool valid) {
  emulation::start_copy(shared, global, 16, valid);
}
inline void async_commit() { emulation::commit_copies(); }
template <int kPending>
void async_wait() {
  emulation::wait_for_copies(kPending);
}

inline void ldmatrix_x4(uint32_t (&r)[4], const void* shared_row, const CallSite& site = CallSite::current()) {
  const auto rows = emulation::load_matrices(shared_row, emulation::Transposed::kNo, site);
  std::copy_n(rows.part, 4, r);
}
inline void ldmatrix_x4_transposed(uint32_t (&r)[4], const void* shared_row,
                                   const CallSite& site = CallSite::current()) {
  const auto columns = emulation::load_matrices(shared_row, emulation::Transposed::kYes, site);
  std::copy_n(columns.part, 4, r);
}
inline void mma_bf16_16x8x16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                             const CallSite& site = CallSite::current()) {
  const auto sums =
      emulation::multiply_matrices({c[0], c[1], c[2], c[3]}, {a[0], a[1], a[2], a[3]}, {b[0], b[1]}, site);
  std::copy_n(sums.part, 4, c);
}

inline constexpr bool kMultipliesInGroups = true;

inline void publish_to_group() {}

enum class Columns : uint8_t { kAlongSum, kAcross };

template <Columns kColumns>
struct GroupOperand {
  const uint16_t* rows;

  explicit GroupOperand(const void* first) : rows(static_cast<const uint16_t*>(first)) {}

  // The elements at `sum` and sum + 1 along the sum, of column or row `across`.
  uint32_t pair(int across, int sum) const { return element(across, sum) | element(across, sum + 1) << 16U; }

 private:
  uint32_t element(int across, int sum) const {
    const int row = kColumns == Columns::kAlongSum ? across : sum;
    const int column = kColumns == Columns::kAlongSum ? sum : across;
    return rows[row * 64 + (column / 8 ^ row % 8) * 8 + column % 8];
  }
};

template <Columns kOfB>
void multiply_in_group(float (&c)[8][4], const uint32_t (&a)[4][4], const GroupOperand<kOfB>& b,
                       const CallSite& site = CallSite::current()) {
  const int group = lane() / 4;
  const int pair = 2 * (lane() % 4);
  for (int step = 0; step < 4; ++step) {
    for (int block = 0; block < 8; ++block) {
      const uint32_t columns[2] = {b.pair(8 * block + group, 16 * step + pair),
                                   b.pair(8 * block + group, 16 * step + pair + 8)};
      mma_bf16_16x8x16(c[block], a[step], columns, site);
    }
  }
}
template <Columns kOfA, Columns kOfB>
void multiply_in_group(float (&c)[8][4], const GroupOperand<kOfA>& a, const GroupOperand<kOfB>& b,
                       const CallSite& site = CallSite::current()) {
  uint32_t rows[4][4];
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 4; ++i)
      rows[step][i] = a.pair(warp() % 4 * 16 + lane() / 4 + i % 2 * 8, 16 * step + 2 * (lane() % 4) + i / 2 * 8);
  }
  multiply_in_group(c, rows, b, site);
}

inline uint32_t pack_bf16(float low, float high) {
  return static_cast<uint32_t>(BFloat16(low).bits) | static_cast<uint32_t>(BFloat16(high).bits) << 16U;
}

inline float exp2_approx(float x) { return std::exp2(x); }

template <typename... Parameters, typename... Arguments>
void launch(cuda::Queue& queue, const char* name, const Launch& shape, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  const emulation::Grid grid{.kernel = name,
                             .x = shape.x,
                             .y = shape.y,
                             .z = shape.z,
                             .threads = shape.threads,
                             .shared_bytes = shape.shared_bytes};
  cuda::submit(queue, [=] { emulation::run(grid, [&] { kernel(arguments...); }); });
}

}  // namespace segue::simt

// The sizes of a kernel's launch: blocks, threads and shared memory. The same on hardware and on the emulated GPU, and
// usable in kernels as what they call here is constexpr.
#pragma once

#include <cstdint>

namespace segue::simt {

inline constexpr int kWarp = 32;

// Blocks of the grid, threads of a block, and its dynamic shared memory.
struct Launch {
  int64_t x = 1;
  int y = 1;
  int z = 1;
  int threads = kWarp;
  int64_t shared_bytes = 0;
};

// Pieces of dynamic shared memory start at multiples of this.
inline constexpr int64_t kSharedAlignment = 128;

template <typename T>
constexpr int64_t shared_piece_bytes(int count) {
  const int64_t bytes = static_cast<int64_t>(count) * static_cast<int64_t>(sizeof(T));
  return (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

// Takes like SharedMemory, but only counts: the bytes that the same sequence of takes needs.
class SharedLayout {
 public:
  template <typename T>
  constexpr T* take(int count) {
    bytes_ += shared_piece_bytes<T>(count);
    return nullptr;
  }
  constexpr int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// Bytes of dynamic shared memory that `Pieces(memory)` takes.
template <typename Pieces>
int64_t shared_bytes_of() {
  SharedLayout layout;
  const Pieces pieces(layout);
  return layout.bytes();
}

}  // namespace segue::simt

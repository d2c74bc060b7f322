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

// Pieces of dynamic shared memory start at multiples of this; tiles that a group multiplies at multiples of the other.
inline constexpr int64_t kSharedAlignment = 128;
inline constexpr int64_t kTileAlignment = 1024;

// Where a piece begins, in bytes, after `bytes` that are taken, and where it ends.
struct SharedPiece {
  int64_t begin, end;

  constexpr SharedPiece(int64_t taken, int64_t bytes, int64_t alignment)
      : begin((taken + alignment - 1) / alignment * alignment),
        end(begin + (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment) {}
};

// Takes like SharedMemory, but only counts: the bytes that the same sequence of takes needs.
class SharedLayout {
 public:
  template <typename T>
  constexpr T* take(int count, int64_t alignment = kSharedAlignment) {
    place<T>(count, alignment);
    return nullptr;
  }
  // Where the piece begins, in bytes.
  template <typename T>
  constexpr int64_t place(int count, int64_t alignment) {
    const SharedPiece piece(bytes_, static_cast<int64_t>(count) * static_cast<int64_t>(sizeof(T)), alignment);
    bytes_ = piece.end;
    return piece.begin;
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

// The shared memory of the block that runs, and which threads have touched it since when: a race ends the process.
//
// When two threads access the same bytes, one of them to write, the kernel must order one access before the other: by a
// barrier of the block, or of the warp when both are of it. Nothing else orders memory, whatever the threads did
// together. The compiler reports every access of a kernel (compiler_calls.cc; not in builds with sanitizers), ldmatrix
// and asynchronous copies report theirs.
//
// Pieces are filled with NaN, so that reading what was never written spoils the result; touching what lies between or
// behind them is an error, which AddressSanitizer sees where it is there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/launch.h"

namespace segue::simt::emulation::shared_memory {

inline constexpr size_t kRoom = size_t{512} * 1024;  // more than a block may take, and the gaps between pieces
alignas(kSharedAlignment) extern std::byte room[kRoom];

inline bool holds(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(room) < kRoom;
}

// All pieces are given back.
void begin_block();
void* take(size_t bytes);

// A thread's access. It need not be the running one's: the lanes of a warp read together.
void read(int thread, const void* from, size_t bytes);
void write(int thread, const void* to, size_t bytes);

// A thread's asynchronous copy. Until it lands no thread may touch its destination.
void begin_copy(int thread, const void* to, size_t bytes);
void land_copy(int thread, const void* to, size_t bytes);

// All threads of the block, or all lanes of a warp, have come to a barrier.
void order_block();
void order_warp(int warp);

}  // namespace segue::simt::emulation::shared_memory

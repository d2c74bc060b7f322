// A GPU's blocks of threads on the processor: one block after another, its threads as fibers that run until they wait.
//
// Whenever a thread waits (at a barrier, or for the other lanes of its warp), any thread that can continue may be next;
// the choice is drawn from a seed, so that a kernel which lacks a barrier computes something else. In half of the
// blocks any thread is as likely as another, in the others single warps run far ahead of the rest. Races on shared
// memory are seen whatever the order (shared_memory.h). A kernel that breaks the rules ends the process with a line
// that names the kernel, block and thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>

#include "kernels/cuda/launch.h"

namespace segue::simt::emulation {

inline constexpr int kMostThreads = 1024;  // of a block

struct Grid {
  const char* kernel = "";
  int64_t x = 1;
  int y = 1;
  int z = 1;
  int threads = kWarp;
  int64_t shared_bytes = 0;
};

// Where the running thread is.
struct Place {
  int thread = 0;
  int block_x = 0;
  int block_y = 0;
  int block_z = 0;
};

// Runs all blocks. The seed is the number of the launch in this process, plus the environment's SEGUE_SIMT_SEED.
void run(const Grid& grid, const std::function<void()>& body);

const Grid& grid();
const Place& place();

// Ends the process: what the running thread did wrong.
[[noreturn]] void fail(const std::string& what);

// Where the kernel's source has the operation: on hardware one for all lanes of a warp, all threads of a block.
using CallSite = std::source_location;

// Waits until every thread of the block has come.
void wait_for_block(const CallSite& site);

// Waits until every lane of the warp has come, from wherever.
void wait_for_warp();

// Hands in `mine` and waits for the other lanes; the last to come calls `combine` with what all of them handed in, in
// the order of lanes. Lanes that meet in different operations, or from different sites, break the rules.
using Combine = void (*)(void* const (&lanes)[kWarp]);
void meet_warp(const char* operation, const CallSite& site, void* mine, Combine combine);

// The block's object of this key.
void* static_shared(const void* key, size_t bytes);

// The next piece of the block's dynamic shared memory, in this thread's count of pieces.
void* take_shared(size_t bytes, int64_t alignment);

// Copies of the running thread on their way: `bytes` land when their group is waited for; until then the destination
// holds NaN, and whoever touches it breaks the rules.
void start_copy(void* to, const void* from, size_t bytes, bool valid);
void commit_copies();
void wait_for_copies(int pending_groups);

}  // namespace segue::simt::emulation

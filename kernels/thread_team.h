// How the calling thread's OpenMP regions run: on how many threads, and what those do with subnormal numbers. Threads
// that are started here take no signals, which a run waits for in a thread of its own (core/train/stop_signal.h).
#pragma once

#include <cstdint>

namespace segue::kernels {

// Subnormal numbers, those below 1.2e-38, cost a processor a hundred cycles each. A model that has learned to look at
// one token leaves many: its other weights of attention are nearly 0, and so are the gradients that pass through them
// and Adam's averages of these. A queue's team takes them as 0, as operands and as results.
struct ThreadTeam {
  static ThreadTeam current();  // the calling thread's
  static ThreadTeam without_subnormals(int threads);

  void enter() const;  // the calling thread's regions run like this from here on

  int threads = 1;
  uint32_t subnormals = 0;  // the bits of MXCSR that say what becomes of them
};

}  // namespace segue::kernels

// How many threads a loop is worth.
#pragma once

#include <cstdint>

#include "kernels/queue.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// Waking a team costs some microseconds: about as much as one thread needs for this many simple element operations.
constexpr int64_t kElementsWorthATeam = 32768;

// For `num_threads(...)` of a parallel loop that touches `elements` elements.
inline int threads_for(const Queue& queue, int64_t elements) {
  return elements < kElementsWorthATeam ? 1 : queue.threads();
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

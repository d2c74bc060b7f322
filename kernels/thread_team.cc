// Each thread of a team has a register of its own, MXCSR, which new ones inherit from the thread that starts them.
#include "kernels/thread_team.h"

#include <immintrin.h>
#include <omp.h>

#include <algorithm>

namespace segue::kernels {

namespace {

constexpr uint32_t kSubnormals = _MM_FLUSH_ZERO_MASK | _MM_DENORMALS_ZERO_MASK;

}  // namespace

ThreadTeam ThreadTeam::current() {
  return {.threads = omp_get_max_threads(), .subnormals = _mm_getcsr() & kSubnormals};
}

ThreadTeam ThreadTeam::without_subnormals(int threads) {
  return {.threads = threads, .subnormals = _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON};
}

void ThreadTeam::enter() const {
  // Also those of a larger team before this one, since they may be called again.
#pragma omp parallel num_threads(std::max(threads, omp_get_max_threads()))
  _mm_setcsr((_mm_getcsr() & ~kSubnormals) | subnormals);
  omp_set_num_threads(threads);
}

}  // namespace segue::kernels

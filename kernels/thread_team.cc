// Each thread of a team has a register of its own, MXCSR, which new ones inherit from the thread that starts them.
#include "kernels/thread_team.h"

#include <immintrin.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>

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
  // Threads that start here inherit what is blocked: signals are for those that wait for them.
  sigset_t all, before;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  // Also those of a larger team before this one, since they may be called again.
#pragma omp parallel num_threads(std::max(threads, omp_get_max_threads()))
  _mm_setcsr((_mm_getcsr() & ~kSubnormals) | subnormals);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  omp_set_num_threads(threads);
}

}  // namespace segue::kernels

// The stream of the CPU backend: it only knows its number of threads.
#include "kernels/stream.h"

#include <omp.h>

#include "base/error.h"

namespace segue::kernels {

Stream::Stream(int threads) : threads_(threads == 0 ? omp_get_max_threads() : threads) {
  if (threads < 0) throw ContractError("stream: expected 0 or more threads, found {}", threads);
  omp_set_num_threads(threads_);
}

}  // namespace segue::kernels

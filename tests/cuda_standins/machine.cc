#include "tests/cuda_standins/machine.h"

#include "tests/cuda_standins/gpu.h"
#include "tests/cuda_standins/memory.h"

namespace segue::standin {

Machine& machine() {
  static Machine only;
  return only;
}

Counts& counts() {
  static Counts only;
  return only;
}

void reset(const Machine& with) {
  {
    const std::lock_guard lock(gpu().mutex);
    gpu().reset(with.seed);
    release_everything();
    counts() = {.library_objects = counts().library_objects};
    machine() = with;
  }
  cudaGetLastError();
}

int64_t live_objects() {
  const std::lock_guard lock(gpu().mutex);
  return static_cast<int64_t>(gpu().handles() + blocks()) + counts().library_objects;
}

}  // namespace segue::standin

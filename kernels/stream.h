// Where kernels run: how many of the processor's threads an operation may use.
#pragma once

namespace segue::kernels {

// An ordered queue of operations. On the CPU an operation has finished when its call returns.
class Stream {
 public:
  // 0: as many threads as the process may use (cpuset, OMP_NUM_THREADS). The calling thread's OpenMP regions get as
  // many.
  explicit Stream(int threads);  // throws ContractError when negative
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  int threads() const { return threads_; }

 private:
  int threads_;
};

}  // namespace segue::kernels

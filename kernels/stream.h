// Where kernels run: the processor's threads and the library handles that operations share.
#pragma once

#include <memory>

namespace segue::kernels {

namespace cpu {
class Libraries;  // oneDNN engine, stream and primitive cache: kernels/cpu/libraries.h
}

// An ordered queue of operations. On the CPU an operation has finished when its call returns.
class Stream {
 public:
  explicit Stream(int threads);  // 0: as many as the process may use (cpuset, OMP_NUM_THREADS)
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  int threads() const { return threads_; }
  cpu::Libraries& libraries() { return *libraries_; }

 private:
  int threads_;
  std::unique_ptr<cpu::Libraries> libraries_;
};

}  // namespace segue::kernels

// Where kernels run: on how many of the processor's threads, or on which GPU.
#pragma once

#include <memory>
#include <string>

#include "base/device.h"
#include "base/patience.h"
#include "base/tensor.h"

namespace segue::cuda {
class Queue;
}

namespace segue::kernels {

struct Operations;
namespace cpu {
class Products;
}

// An ordered queue of operations. On the CPU an operation has finished when its call returns; on a GPU it has only been
// queued, and what it read and wrote stays untouched until `synchronize` returns or a later operation of the queue.
class Queue {
 public:
  // 0: as many threads as the process may use (cpuset, OMP_NUM_THREADS). The calling thread's OpenMP regions get as
  // many, and take subnormal numbers as 0 (ThreadTeam).
  explicit Queue(int threads);  // throws ContractError when negative
  // Throws DeviceError when the GPU cannot be used.
  explicit Queue(Device device, int threads = 0);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // One thread at a time may use a queue. Another than the one that made it, or one that has made another since, calls
  // this first: its OpenMP regions get the queue's threads, and the queue's GPU is its current device.
  void enter_thread();

  Device device() const { return device_; }
  int threads() const { return threads_; }
  segue::cuda::Queue& cuda();  // throws ContractError on the CPU
  const Operations& operations() const { return operations_; }
  cpu::Products& products() const { return *products_; }
  std::string code_path() const;  // what the processor runs: "x86-64-v4, products by oneDNN 2.6.3 (avx512_core_bf16)"

  // to = from, of equal size; with a GPU either may lie on the CPU's side.
  void copy(TensorView to, ConstTensorView from);
  void fill_zero(TensorView tensor);
  void synchronize();  // until everything queued has finished; throws DeviceError when some of it failed
  // With a GPU, `watch` is called again and again while the host waits for it; what it throws ends the wait.
  void watch_with(Watch watch);

 private:
  void enter_team();

  Device device_;
  int threads_;
  const Operations& operations_;
  std::unique_ptr<cpu::Products> products_;
  std::unique_ptr<segue::cuda::Queue> queue_;
};

}  // namespace segue::kernels

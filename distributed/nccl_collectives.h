// Collectives between GPUs through NCCL, queued on a CUDA stream of their own.
#pragma once

#include <string_view>

#include "base/cuda_stream.h"
#include "base/device.h"
#include "distributed/collectives.h"
#include "distributed/job.h"
#include "distributed/nccl.h"

namespace segue {

class NcclCollectives final : public Collectives {
 public:
  // Opened by all ranks of the job at once, each on its GPU; returns when a first sum has gone around. The job outlives
  // it. Throws PeerError when that takes longer than the time-out or NCCL fails, and DeviceError.
  NcclCollectives(Job& job, Device device, double timeout_seconds);
  // Waits for what is queued, unless an error is on its way up. Graphs that hold its collectives are destroyed before
  // it.
  ~NcclCollectives() override;

  const char* name() const override { return "NCCL"; }

  void all_reduce(TensorView values) override;
  void reduce_scatter(ConstTensorView values, TensorView my_part) override;
  void all_gather(ConstTensorView my_part, TensorView values) override;

  void* stream() const override { return stream_.get(); }
  void wait() override;
  void check_progress(double seconds_waited) override;
  void abandon() noexcept override { handle_.abort(); }

 private:
  void settle(std::string_view what);
  void check_sum_of_ones(Device device);
  [[noreturn]] void give_up(std::string_view what);
  [[noreturn]] void fail(std::string_view what);

  Job& job_;
  double timeout_seconds_;
  cuda::OwnedStream stream_;
  nccl::Handle handle_;
};

}  // namespace segue

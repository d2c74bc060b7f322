// Collectives between GPUs through NCCL, queued on a CUDA stream of their own. Everything else is done by the
// communicator of the job.
#pragma once

#include "base/cuda_stream.h"
#include "base/device.h"
#include "distributed/communicator.h"
#include "distributed/nccl.h"

namespace segue {

class NcclCommunicator final : public Communicator {
 public:
  // Opened by all ranks of the job at once, each on its GPU; returns when a first sum has gone around. The job outlives
  // it. Throws PeerError when that takes longer than the time-out or NCCL fails, and DeviceError.
  NcclCommunicator(Communicator& job, Device device, double timeout_seconds);
  // Waits for what is queued, unless an error is on its way up. Graphs that hold its collectives are destroyed before
  // it.
  ~NcclCommunicator() override;

  int rank() const override { return job_.rank(); }
  int size() const override { return job_.size(); }
  int local_rank() const override { return job_.local_rank(); }
  const char* name() const override { return "NCCL"; }
  std::string host() const override { return job_.host(); }

  void all_reduce(TensorView values) override;
  void reduce_scatter(ConstTensorView values, TensorView my_part) override;
  void all_gather(ConstTensorView my_part, TensorView values) override;

  void* stream() const override { return stream_.get(); }
  void wait() override;
  void check_progress(double seconds_waited) override;

  void barrier() override;
  void allow_long_work(bool allowed) override { job_.allow_long_work(allowed); }
  void sum(std::span<double> values) override;
  std::vector<std::string> gather(std::string_view mine) override;
  void at_step(int64_t step) override;
  [[noreturn]] void give_up(std::string_view what) override;
  void abort(int exit_code) noexcept override { job_.abort(exit_code); }

 private:
  void settle(std::string_view what);
  void check_sum_of_ones(Device device);
  [[noreturn]] void fail(std::string_view what);

  Communicator& job_;
  double timeout_seconds_;
  int64_t step_ = 0;
  cuda::OwnedStream stream_;
  nccl::Handle handle_;
};

}  // namespace segue

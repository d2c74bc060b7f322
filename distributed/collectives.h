// How the tensors of a job's ranks are summed and gathered: by copying in one rank, through memory of the hosts
// (distributed/mpi_collectives.h), or between GPUs (distributed/nccl_collectives.h).
//
// Every rank calls the same collectives in the same order with equal shapes; a call returns when this rank's part is
// done, or where there is a stream() when it is queued. A rank that does not come ends the job, as in
// distributed/job.h. Sums have one order for a given number of ranks, so that the same job gives the same bits.
#pragma once

#include <memory>

#include "base/device.h"
#include "base/tensor.h"

namespace segue {

class Collectives {
 public:
  virtual ~Collectives() = default;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  virtual const char* name() const = 0;

  // Tensors on the device that the collectives were opened for; sums are of float32, float64 or int64.
  virtual void all_reduce(TensorView values) = 0;                               // sum, in place
  virtual void reduce_scatter(ConstTensorView values, TensorView my_part) = 0;  // sum; values [size * n], my_part [n]
  virtual void all_gather(ConstTensorView my_part, TensorView values) = 0;      // my_part [n], or its part of values

  // The cudaStream_t on which collectives are only queued: their tensors belong to it until an event behind them has
  // come, or wait() has returned. nullptr: a collective is finished when its call returns.
  virtual void* stream() const { return nullptr; }
  // Until everything queued on stream() is done; throws PeerError when a rank has failed or does not come in time.
  virtual void wait() {}
  // To be called again and again by whoever waits for a GPU that may be waiting for other ranks: throws PeerError when
  // a collective has failed, or the wait takes longer than the time-out.
  virtual void check_progress(double /*seconds_waited*/) {}
  // For an error on its way up: ends what is queued, which may wait for ranks that will not come, as would whoever
  // frees memory of the GPU. Collectives called after that fail. Where there is no stream() nothing is queued.
  virtual void abandon() noexcept {}

 protected:
  Collectives(int rank, int size) : rank_(rank), size_(size) {}

 private:
  int rank_;
  int size_;
};

// Throws ContractError for what ranks do not sum: anything but float32, float64 and int64.
void check_summable(DType dtype);

// The collectives of a rank that is alone.
std::unique_ptr<Collectives> collectives_of_one_rank(Device device);

}  // namespace segue

// What the ranks of a job do together.
//
// Every rank calls the same operations in the same order with equal shapes; a call returns when this rank's part is
// done, or where there is a stream() when it is queued. A rank that does not come within the time-out ends the job: the
// others throw PeerError, which names it. Sums have one order for a given number of ranks, so that the same job gives
// the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/activity.h"
#include "base/device.h"
#include "base/tensor.h"

namespace segue {

// A contiguous range of things numbered over all ranks.
struct Share {
  int64_t first = 0;
  int64_t count = 0;
  bool operator==(const Share&) const = default;
};

// The part of `rank` when `total` things are dealt to `ranks` ranks in order; sizes differ by at most one, the larger
// first.
Share share_of(int64_t total, int ranks, int rank);

// Throws ContractError for what ranks do not sum: anything but float32, float64 and int64.
void check_summable(DType dtype);

std::string host_name();  // of this machine

class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  // among the ranks of this host
  virtual const char* name() const = 0;
  virtual std::string host() const = 0;  // this rank's

  // Tensors on the communicator's device; sums are of float32, float64 or int64.
  virtual void all_reduce(TensorView values) = 0;                               // sum, in place
  virtual void reduce_scatter(ConstTensorView values, TensorView my_part) = 0;  // sum; values [size * n], my_part [n]
  virtual void all_gather(ConstTensorView my_part, TensorView values) = 0;      // my_part [n], or its place in values
  virtual void barrier() = 0;

  // From now on, or no longer, a rank may be busy on its own for longer than the time-out: the others wait for it as
  // long as it shows signs of life and gets on (base/activity.h). As often allowed as forbidden again.
  virtual void allow_long_work(bool allowed) = 0;

  // The cudaStream_t on which collectives on tensors are only queued: their tensors belong to it until an event behind
  // them has come, or wait() has returned. nullptr: a collective is finished when its call returns.
  virtual void* stream() const { return nullptr; }
  // Until everything queued on stream() is done; throws PeerError when a rank has failed or does not come in time.
  virtual void wait() {}
  // To be called again and again by whoever waits for a GPU that may be waiting for other ranks: throws PeerError when
  // the communicator has failed, or the wait takes longer than the time-out.
  virtual void check_progress(double /*seconds_waited*/) {}

  // Small things of the CPU, whatever the device: sums in place, and what every rank has to say, in their order.
  virtual void sum(std::span<double> values) = 0;
  virtual std::vector<std::string> gather(std::string_view mine) = 0;
  bool is_first() const { return rank() == 0; }

  // Where tensors lie from now on; at first, the CPU.
  virtual void use_device(Device /*device*/) {}

  // Where the job is, for the words of a PeerError.
  virtual void at_step(int64_t step) = 0;

  // For whoever has waited for `what` longer than the time-out: throws PeerError, which names who does not answer.
  [[noreturn]] virtual void give_up(std::string_view what);

  // Ends all ranks at once; the job's exit code is `exit_code`. Does not return when there are other ranks.
  virtual void abort(int exit_code) noexcept = 0;
};

// Ranks may be busy on their own while one exists, with `what`: to write large weights to a slow file system takes
// minutes.
class LongWork {
 public:
  LongWork(Communicator& communicator, std::string what) : communicator_(communicator), activity_(std::move(what)) {
    communicator_.allow_long_work(true);
  }
  ~LongWork() { communicator_.allow_long_work(false); }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

 private:
  Communicator& communicator_;
  Activity activity_;
};

struct CommunicatorOptions {
  double timeout_seconds = 20.0;
  double stall_seconds = 900.0;  // that a rank may be busy on its own without getting on
  // Called in the first rank, by another thread, with a line that says whom the job has been waiting for.
  std::function<void(const std::string& line)> tell = nullptr;
};

// Of the job this process was launched into: MPI's when there is one, otherwise of one rank alone.
std::unique_ptr<Communicator> open_communicator(const CommunicatorOptions& options);

}  // namespace segue

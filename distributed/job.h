// The job that this process is a rank of: which rank it is, how ranks meet and exchange small things, and how all of
// them end when one does not come. Their tensors are carried by distributed/collectives.h.
//
// Every rank calls the same operations in the same order. A rank that does not come within the time-out ends the job:
// the others throw PeerError, which names it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/device.h"
#include "base/process_status.h"

namespace segue {

class Collectives;

std::string host_name();  // of this machine

class Job {
 public:
  // Who a rank is.
  struct Rank {
    int rank = 0;
    int size = 1;
    int local_rank = 0;  // among the ranks of its host
    std::string host;
  };

  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  int rank() const { return me_.rank; }
  int size() const { return me_.size; }
  int local_rank() const { return me_.local_rank; }
  const std::string& host() const { return me_.host; }
  bool is_first() const { return me_.rank == 0; }

  virtual void barrier() = 0;
  // Small exchanges: sums in place, and a text from every rank, in their order.
  virtual void sum(std::span<double> values) = 0;
  virtual std::vector<std::string> gather(std::string_view mine) = 0;

  // From now on, or no longer, a rank may be busy on its own for longer than the time-out: the others wait for it as
  // long as it shows signs of life and makes progress (base/process_status.h). As often allowed as forbidden again.
  virtual void allow_long_work(bool allowed) = 0;

  // Where the job is, for the words of a PeerError.
  void at_step(int64_t step) { step_ = step; }
  int64_t step() const { return step_; }

  // For whoever has waited for `what` longer than the time-out: throws PeerError, which names who does not answer.
  [[noreturn]] virtual void give_up(std::string_view what) = 0;

  // Ends all ranks at once; the job's exit code is `exit_code`. Does not return when there are other ranks.
  virtual void abort(int exit_code) noexcept = 0;

  // For tensors on `device`, through memory of the host; one at a time, which the job outlives.
  virtual std::unique_ptr<Collectives> open_collectives(Device device) = 0;

 protected:
  explicit Job(Rank me) : me_(std::move(me)) {}

 private:
  Rank me_;
  int64_t step_ = 0;
};

// Ranks may be busy on their own while one exists, with `what`: to write large weights to a slow file system takes
// minutes.
class LongWork {
 public:
  LongWork(Job& job, std::string what) : job_(job), activity_(std::move(what)) { job_.allow_long_work(true); }
  ~LongWork() { job_.allow_long_work(false); }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

 private:
  Job& job_;
  ScopedActivity activity_;
};

struct JobOptions {
  double timeout_seconds = 20.0;
  double stall_seconds = 900.0;  // that a rank may be busy on its own without making progress
  // Called in the first rank, by another thread, with a line that says whom the job has been waiting for.
  std::function<void(const std::string& line)> tell = nullptr;
};

// The job that this process was launched into: MPI's when there is one, otherwise of one rank alone. Throws UsageError
// where that rank has others beside it which it cannot find (distributed/launched_tasks.h).
std::unique_ptr<Job> open_job(const JobOptions& options);

}  // namespace segue

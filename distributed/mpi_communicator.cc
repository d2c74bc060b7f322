// Collectives over MPI, with a time-out: each is started, then asked for until it is done. What lies on a GPU passes
// through pinned memory of the host.
#include "distributed/mpi_communicator.h"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/activity.h"
#include "base/buffer.h"
#include "base/cuda.h"
#include "base/error.h"
#include "base/patience.h"
#include "distributed/heartbeat.h"
#include "distributed/mpi_check.h"
#include "distributed/mpi_ring.h"
#include "distributed/start_watch.h"

namespace segue {

namespace {

using mpi::check;
using Clock = std::chrono::steady_clock;

constexpr int kHostNameLength = 256;
constexpr int64_t kLeastPartBytes = 1024;  // of a rank in a sum that is worth the ring's 2 (n - 1) trips

// Once told to end the job, mpirun waits for a host that is gone until TCP gives it up, a quarter of an hour later. It
// ends at once when it misses the host by itself, and is given this time to do so (see launch/hosts.conf).
constexpr std::chrono::seconds kLaunchersTurn(15);

MPI_Datatype type_of(DType dtype) {
  check_summable(dtype);
  if (dtype == DType::kInt64) return MPI_INT64_T;
  return dtype == DType::kFloat32 ? MPI_FLOAT : MPI_DOUBLE;
}

// Initialised MPI, and finalised unless the job is going down.
class Session {
 public:
  Session() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_MULTIPLE)
      throw PeerError("MPI: expected a library whose calls may come from several threads");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  ~Session() {
    if (std::uncaught_exceptions() == 0) MPI_Finalize();  // which would wait for ranks that no longer come
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

// While one exists this rank waits for others: it has got on as far as it can.
class Waiting {
 public:
  explicit Waiting(std::atomic<int>& waits) : waits_(waits) {
    ++waits_;
    note_progress();
  }
  ~Waiting() {
    --waits_;
    note_progress();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::atomic<int>& waits_;
};

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(CommunicatorOptions options) : options_(std::move(options)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    check(MPI_Comm_dup(MPI_COMM_WORLD, &roll_call_), "MPI_Comm_dup");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &beats_), "MPI_Comm_dup");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &around_), "MPI_Comm_dup");
    ring_ = std::make_unique<MpiRing>(around_);
    MPI_Comm host = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host), "MPI_Comm_split");
    MPI_Comm_rank(host, &local_rank_);
    MPI_Comm_free(&host);
    gather_hosts();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  const char* name() const override { return "MPI"; }
  std::string host() const override { return hosts_[static_cast<size_t>(rank_)]; }
  void use_device(Device device) override { device_ = device; }
  void at_step(int64_t step) override { step_ = step; }
  void allow_long_work(bool allowed) override;

  void all_reduce(TensorView values) override {
    const TensorView host = staged(values, first_stage_, Fill::kYes);
    if (host.bytes() < size_ * kLeastPartBytes) {
      sum_over_tree(host, "all_reduce");
    } else {
      ring_->start_all_reduce(host);
      finish_ring("all_reduce");
    }
    unstage(host, values);
  }

  void reduce_scatter(ConstTensorView values, TensorView my_part) override {
    const ConstTensorView all = staged(writable(values), first_stage_, Fill::kYes);
    const TensorView mine = staged(my_part, second_stage_, Fill::kNo);
    ring_->start_reduce_scatter(all, mine);
    finish_ring("reduce_scatter");
    unstage(mine, my_part);
  }

  void all_gather(ConstTensorView my_part, TensorView values) override {
    const TensorView all = staged(values, first_stage_, Fill::kNo);
    std::byte* const my_place = all.data + rank_ * my_part.bytes();
    if (device_.is_cuda()) {
      cuda::copy(my_place, my_part.data, my_part.bytes());
    } else if (my_part.data != my_place) {
      std::copy_n(my_part.data, my_part.bytes(), my_place);
    }
    ring_->start_all_gather(all);
    finish_ring("all_gather");
    unstage(all, values);
  }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(MPI_COMM_WORLD, &request), "barrier");
    finish(request, "barrier");
  }

  void sum(std::span<double> values) override {
    const Shape shape{std::ssize(values)};
    sum_over_tree({reinterpret_cast<std::byte*>(values.data()), DType::kFloat64, shape}, "sum");
  }

  std::vector<std::string> gather(std::string_view mine) override;

  [[noreturn]] void give_up(std::string_view what) override;

  void abort(int exit_code) noexcept override {
    if (host_is_silent_) std::this_thread::sleep_for(kLaunchersTurn);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }

 private:
  enum class Fill : bool { kNo, kYes };

  static TensorView writable(ConstTensorView view) {  // MPI and staging only read it
    return {const_cast<std::byte*>(view.data), view.dtype, view.shape};
  }
  // The values where MPI can reach them: themselves, or their copy in pinned memory.
  TensorView staged(TensorView values, Buffer& stage, Fill fill) const {
    if (device_.kind == DeviceKind::kCpu) return values;
    if (stage.bytes() < values.bytes()) stage = Buffer(values.bytes(), device_, BufferKind::kPinned);
    if (fill == Fill::kYes) cuda::copy(stage.data(), values.data, values.bytes());
    return {stage.data(), values.dtype, values.shape};
  }
  void unstage(ConstTensorView host, TensorView values) const {
    if (host.data != values.data) cuda::copy(values.data, host.data, values.bytes());
  }

  // Fewer trips than around the ring, of more bytes.
  void sum_over_tree(TensorView values, const char* what) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(MPI_IN_PLACE, values.data, static_cast<int>(values.elements()), type_of(values.dtype), MPI_SUM,
                         MPI_COMM_WORLD, &request),
          what);
    finish(request, what);
  }

  void finish(MPI_Request& request, const char* what) {
    keep_looking(
        [&] {
          int done = 0;
          check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
          return done == 0 ? MpiRing::Progress::kNone : MpiRing::Progress::kDone;
        },
        what);
  }
  void finish_ring(const char* what) {
    keep_looking([&] { return ring_->advance(); }, what);
  }

  // Until all is done; PeerError when nothing comes for longer than the time-out.
  template <typename Look>
  void keep_looking(const Look& look, const char* what) {
    using Progress = MpiRing::Progress;
    const Waiting waiting(waits_);
    const auto patience_ends = [this] {
      return Clock::now() + std::chrono::duration<double>(options_.timeout_seconds);
    };
    auto deadline = patience_ends();
    Patience patience;
    for (Progress progress = look(); progress != Progress::kDone; progress = look()) {
      if (progress == Progress::kSome) {
        deadline = patience_ends();
        patience = {};
        note_progress();
      } else {
        if (Clock::now() > deadline) check_others(what);
        patience.wait();
      }
    }
  }

  void check_others(const char* what);
  void tell_of_wait(const Heartbeat& heartbeat);
  std::vector<int> call_roll();
  std::string name_of(int rank) const { return fmt::format("rank {} on {}", rank, hosts_[static_cast<size_t>(rank)]); }
  std::string describe(const Heartbeat::Stuck& stuck) const;
  [[noreturn]] void end_for_lack_of(const std::vector<int>& ranks, const std::string& line);
  bool misses_a_host(const std::vector<int>& missing) const;
  void gather_hosts();

  CommunicatorOptions options_;
  Device device_;  // where tensors lie
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int64_t step_ = 0;
  MPI_Comm roll_call_ = MPI_COMM_NULL;
  MPI_Comm beats_ = MPI_COMM_NULL;
  MPI_Comm around_ = MPI_COMM_NULL;
  std::atomic<int> waits_ = 0;  // for other ranks that are under way in this one
  int long_works_ = 0;
  double told_of_ = 0.0;            // the wait that the log was last told of, in seconds
  std::vector<std::string> hosts_;  // of every rank
  std::unique_ptr<MpiRing> ring_;
  bool host_is_silent_ = false;  // no rank there has answered the roll call
  Buffer first_stage_;
  Buffer second_stage_;
  std::unique_ptr<Heartbeat> heartbeat_;  // while long work is allowed; its thread reads what is above
};

void MpiCommunicator::gather_hosts() {
  std::vector<char> mine(kHostNameLength);
  int length = 0;
  MPI_Get_processor_name(mine.data(), &length);
  std::vector<char> all(mine.size() * static_cast<size_t>(size_));
  check(MPI_Allgather(mine.data(), kHostNameLength, MPI_CHAR, all.data(), kHostNameLength, MPI_CHAR, MPI_COMM_WORLD),
        "MPI_Allgather");
  for (int r = 0; r < size_; ++r) hosts_.emplace_back(all.data() + static_cast<ptrdiff_t>(r) * kHostNameLength);
}

std::vector<std::string> MpiCommunicator::gather(std::string_view mine) {
  const auto my_length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(&my_length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD, &request), "gather");
  finish(request, "gather");
  std::vector<int> offsets(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
  std::string all(static_cast<size_t>(offsets.back()) + static_cast<size_t>(lengths.back()), ' ');
  check(MPI_Iallgatherv(mine.data(), my_length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR,
                        MPI_COMM_WORLD, &request),
        "gather");
  finish(request, "gather");
  std::vector<std::string> parts;
  for (size_t r = 0; r < lengths.size(); ++r)
    parts.push_back(all.substr(static_cast<size_t>(offsets[r]), static_cast<size_t>(lengths[r])));
  return parts;
}

// Who still answers: everybody who has given up waiting tells everybody else, and listens for a moment.
std::vector<int> MpiCommunicator::call_roll() {
  const double moment = std::min(3.0, options_.timeout_seconds);
  const auto end = Clock::now() + std::chrono::duration<double>(moment);
  std::vector<int64_t> said(static_cast<size_t>(size_), -1);
  std::vector<MPI_Request> requests;
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    MPI_Isend(&step_, 1, MPI_INT64_T, r, 0, roll_call_, &requests.emplace_back());
    MPI_Irecv(&said[static_cast<size_t>(r)], 1, MPI_INT64_T, r, 0, roll_call_, &requests.emplace_back());
  }
  said[static_cast<size_t>(rank_)] = step_;
  while (Clock::now() < end) {
    int done = 0;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::vector<int> missing;
  for (int r = 0; r < size_; ++r) {
    if (said[static_cast<size_t>(r)] < 0) missing.push_back(r);
  }
  return missing;
}

bool MpiCommunicator::misses_a_host(const std::vector<int>& missing) const {
  std::vector<std::string> answering;
  for (int r = 0; r < size_; ++r) {
    if (std::find(missing.begin(), missing.end(), r) == missing.end())
      answering.push_back(hosts_[static_cast<size_t>(r)]);
  }
  return std::any_of(missing.begin(), missing.end(), [&](int r) {
    return std::find(answering.begin(), answering.end(), hosts_[static_cast<size_t>(r)]) == answering.end();
  });
}

void MpiCommunicator::give_up(std::string_view what) {
  const std::vector<int> missing = call_roll();
  host_is_silent_ = misses_a_host(missing);
  std::string names;
  for (const int r : missing) names += (names.empty() ? "" : ", ") + name_of(r);
  end_for_lack_of(missing, fmt::format("{}: {} did not come within {:g} s", what, names.empty() ? "some rank" : names,
                                       options_.timeout_seconds));
}

// One line for the job: whoever is not the first of those that can speak waits for that one to end it.
void MpiCommunicator::end_for_lack_of(const std::vector<int>& ranks, const std::string& line) {
  int speaker = 0;
  while (std::find(ranks.begin(), ranks.end(), speaker) != ranks.end()) ++speaker;
  if (rank_ != speaker) std::this_thread::sleep_for(kLaunchersTurn + std::chrono::seconds(5));
  throw PeerError("step {}: {}", step_, line);
}

void MpiCommunicator::allow_long_work(bool allowed) {
  long_works_ += allowed ? 1 : -1;
  if ((long_works_ > 0) == (heartbeat_ != nullptr)) return;
  if (!allowed) return heartbeat_.reset();
  told_of_ = 0.0;
  const auto tell = [this](const Heartbeat& heartbeat) { tell_of_wait(heartbeat); };
  heartbeat_ = std::make_unique<Heartbeat>(
      beats_, std::min(1.0, options_.timeout_seconds / 4.0), [this] { return waits_ > 0; },
      rank_ == 0 && options_.tell ? tell : std::function<void(const Heartbeat&)>());
}

// After the time-out: nobody may be silent for so long, and none that is busy may be stuck.
void MpiCommunicator::check_others(const char* what) {
  if (!heartbeat_ || heartbeat_->longest_silence() > options_.timeout_seconds) give_up(what);
  const std::vector<Heartbeat::Stuck> stuck = heartbeat_->stuck_for(options_.stall_seconds);
  if (stuck.empty()) return;
  std::vector<int> ranks;
  std::string names;
  for (const Heartbeat::Stuck& each : stuck) {
    if (!each.what.empty()) ranks.push_back(each.rank);
    names += (names.empty() ? "" : ", ") + describe(each);
  }
  end_for_lack_of(ranks, fmt::format("{}: no progress for {:g} s: {}", what, options_.stall_seconds, names));
}

std::string MpiCommunicator::describe(const Heartbeat::Stuck& stuck) const {
  return fmt::format("{}, {}", name_of(stuck.rank), stuck.what.empty() ? "waiting for others" : stuck.what);
}

// After the time-out, then after twice as long, and so on.
void MpiCommunicator::tell_of_wait(const Heartbeat& heartbeat) {
  const Heartbeat::Wait wait = heartbeat.longest_wait();
  if (wait.seconds < options_.timeout_seconds) told_of_ = 0.0;
  if (wait.seconds < std::max(options_.timeout_seconds, 2.0 * told_of_)) return;
  told_of_ = wait.seconds;
  std::string names;
  for (const Heartbeat::Stuck& each : wait.awaited)
    names += fmt::format("{}{} (last progress {:.0f} s ago)", names.empty() ? "" : "; ", describe(each), each.seconds);
  options_.tell(fmt::format("step {}: the job has waited {:.0f} s for {}", step_, wait.seconds,
                            names.empty() ? "ranks that wait for one another" : names));
}

// The communicator and the MPI that it needs, in the order they come and go.
class OpenMpiCommunicator : private Session, public MpiCommunicator {
 public:
  using MpiCommunicator::MpiCommunicator;
};

}  // namespace

bool launched_by_mpi() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  return is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMIX_RANK") || is_set("PMI_RANK");
}

std::unique_ptr<Communicator> open_mpi_communicator(const CommunicatorOptions& options) {
  const StartWatch watch(options.timeout_seconds);
  return std::make_unique<OpenMpiCommunicator>(options);
}

}  // namespace segue

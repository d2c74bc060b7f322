// Meeting and telling over MPI, with a time-out: each call is started, then asked for until it is done. Whoever waits
// in vain finds out who does not come.
#include "distributed/mpi_job.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/patience.h"
#include "base/process_status.h"
#include "distributed/heartbeat.h"
#include "distributed/mpi_calls.h"
#include "distributed/mpi_collectives.h"
#include "distributed/mpi_start_timeout.h"

namespace segue {

namespace {

using mpi::check;
using mpi::Progress;
using Clock = std::chrono::steady_clock;

constexpr int kHostNameLength = 256;

// Once told to end the job, mpirun waits for a host that is gone until TCP gives it up, a quarter of an hour later. It
// ends at once when it misses the host by itself, and is given this time to do so (see launch/cluster/hosts.conf).
constexpr std::chrono::seconds kLaunchersTurn(15);

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

class MpiJob : public Job {
 public:
  explicit MpiJob(JobOptions options) : Job(find_rank()), options_(std::move(options)) {
    for (MPI_Comm* comm : {&roll_call_, &beats_, &around_}) check(MPI_Comm_dup(MPI_COMM_WORLD, comm), "MPI_Comm_dup");
    gather_hosts();
  }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(MPI_COMM_WORLD, &request), "barrier");
    finish(request, "barrier");
  }

  void sum(std::span<double> values) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                         MPI_COMM_WORLD, &request),
          "sum");
    finish(request, "sum");
  }

  std::vector<std::string> gather(std::string_view mine) override;
  void allow_long_work(bool allowed) override;
  [[noreturn]] void give_up(std::string_view what) override;

  void abort(int exit_code) noexcept override {
    if (host_is_silent_) std::this_thread::sleep_for(kLaunchersTurn);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }

  std::unique_ptr<Collectives> open_collectives(Device device) override {
    return std::make_unique<MpiCollectives>(*this, around_, device,
                                            [this](const auto& look, const char* what) { keep_looking(look, what); });
  }

 private:
  static Rank find_rank();

  void finish(MPI_Request& request, const char* what) {
    keep_looking([&] { return mpi::test(request, what); }, what);
  }

  // As mpi::Wait says.
  void keep_looking(const std::function<Progress()>& look, const char* what);
  void check_others(const char* what);
  void tell_of_wait(const Heartbeat& heartbeat);
  std::vector<int> call_roll();
  std::string name_of(int rank) const { return fmt::format("rank {} on {}", rank, hosts_[static_cast<size_t>(rank)]); }
  std::string describe(const Heartbeat::Stuck& stuck) const;
  [[noreturn]] void end_for_lack_of(const std::vector<int>& ranks, const std::string& line);
  bool misses_a_host(const std::vector<int>& missing) const;
  void gather_hosts();

  JobOptions options_;
  MPI_Comm roll_call_ = MPI_COMM_NULL;
  MPI_Comm beats_ = MPI_COMM_NULL;
  MPI_Comm around_ = MPI_COMM_NULL;  // for the collectives, whose order is their own
  std::atomic<int> waits_ = 0;       // for other ranks that are under way in this one
  int long_works_ = 0;
  double told_of_ = 0.0;                  // the wait that was last logged, in seconds
  std::vector<std::string> hosts_;        // of every rank
  int64_t last_step_ = 0;                 // which the roll call reports
  std::vector<int64_t> said_;             // what it hears of every rank, perhaps after it has ended
  bool host_is_silent_ = false;           // no rank there has answered the roll call
  std::unique_ptr<Heartbeat> heartbeat_;  // while long work is allowed; its thread reads what is above
};

Job::Rank MpiJob::find_rank() {
  Rank me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &me.size);
  MPI_Comm host = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, me.rank, MPI_INFO_NULL, &host), "MPI_Comm_split");
  MPI_Comm_rank(host, &me.local_rank);
  MPI_Comm_free(&host);
  std::array<char, kHostNameLength> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  me.host = name.data();
  return me;
}

void MpiJob::gather_hosts() {
  std::vector<char> mine(kHostNameLength);
  std::copy(host().begin(), host().end(), mine.begin());
  std::vector<char> all(mine.size() * static_cast<size_t>(size()));
  check(MPI_Allgather(mine.data(), kHostNameLength, MPI_CHAR, all.data(), kHostNameLength, MPI_CHAR, MPI_COMM_WORLD),
        "MPI_Allgather");
  for (int r = 0; r < size(); ++r) hosts_.emplace_back(all.data() + static_cast<ptrdiff_t>(r) * kHostNameLength);
}

void MpiJob::keep_looking(const std::function<Progress()>& look, const char* what) {
  const Waiting waiting(waits_);
  const auto patience_ends = [this] { return Clock::now() + std::chrono::duration<double>(options_.timeout_seconds); };
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

std::vector<std::string> MpiJob::gather(std::string_view mine) {
  const auto my_length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<size_t>(size()));
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

// Which ranks still answer: each that has given up waiting tells all others, and listens for a moment.
std::vector<int> MpiJob::call_roll() {
  const double moment = std::min(3.0, options_.timeout_seconds);
  const auto end = Clock::now() + std::chrono::duration<double>(moment);
  said_.assign(static_cast<size_t>(size()), -1);
  last_step_ = step();
  std::vector<MPI_Request> requests;
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    MPI_Isend(&last_step_, 1, MPI_INT64_T, r, 0, roll_call_, &requests.emplace_back());
    MPI_Irecv(&said_[static_cast<size_t>(r)], 1, MPI_INT64_T, r, 0, roll_call_, &requests.emplace_back());
  }
  said_[static_cast<size_t>(rank())] = last_step_;
  while (Clock::now() < end) {
    int done = 0;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::vector<int> missing;
  for (int r = 0; r < size(); ++r) {
    if (said_[static_cast<size_t>(r)] < 0) missing.push_back(r);
  }
  return missing;
}

bool MpiJob::misses_a_host(const std::vector<int>& missing) const {
  std::vector<std::string> answering;
  for (int r = 0; r < size(); ++r) {
    if (std::find(missing.begin(), missing.end(), r) == missing.end())
      answering.push_back(hosts_[static_cast<size_t>(r)]);
  }
  return std::any_of(missing.begin(), missing.end(), [&](int r) {
    return std::find(answering.begin(), answering.end(), hosts_[static_cast<size_t>(r)]) == answering.end();
  });
}

void MpiJob::give_up(std::string_view what) {
  const std::vector<int> missing = call_roll();
  host_is_silent_ = misses_a_host(missing);
  std::string names;
  for (const int r : missing) names += (names.empty() ? "" : ", ") + name_of(r);
  end_for_lack_of(missing, fmt::format("{}: {} did not come within {:g} s", what, names.empty() ? "some rank" : names,
                                       options_.timeout_seconds));
}

// One line for the job: whoever is not the first of those that can speak waits for that one to end it.
void MpiJob::end_for_lack_of(const std::vector<int>& ranks, const std::string& line) {
  int speaker = 0;
  while (std::find(ranks.begin(), ranks.end(), speaker) != ranks.end()) ++speaker;
  if (rank() != speaker) std::this_thread::sleep_for(kLaunchersTurn + std::chrono::seconds(5));
  throw PeerError("step {}: {}", step(), line);
}

void MpiJob::allow_long_work(bool allowed) {
  long_works_ += allowed ? 1 : -1;
  if ((long_works_ > 0) == (heartbeat_ != nullptr)) return;
  if (!allowed) return heartbeat_.reset();
  told_of_ = 0.0;
  const auto tell = [this](const Heartbeat& heartbeat) { tell_of_wait(heartbeat); };
  heartbeat_ = std::make_unique<Heartbeat>(
      beats_, std::min(1.0, options_.timeout_seconds / 4.0), [this] { return waits_ > 0; },
      rank() == 0 && options_.tell ? tell : std::function<void(const Heartbeat&)>());
}

// After the time-out: no rank may be silent for so long, and none that is busy may be stuck.
void MpiJob::check_others(const char* what) {
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

std::string MpiJob::describe(const Heartbeat::Stuck& stuck) const {
  return fmt::format("{}, {}", name_of(stuck.rank), stuck.what.empty() ? "waiting for others" : stuck.what);
}

// After the time-out, then after twice as long, and so on.
void MpiJob::tell_of_wait(const Heartbeat& heartbeat) {
  const Heartbeat::Wait wait = heartbeat.longest_wait();
  if (wait.seconds < options_.timeout_seconds) told_of_ = 0.0;
  if (wait.seconds < std::max(options_.timeout_seconds, 2.0 * told_of_)) return;
  told_of_ = wait.seconds;
  std::string names;
  for (const Heartbeat::Stuck& each : wait.awaited)
    names += fmt::format("{}{} (last progress {:.0f} s ago)", names.empty() ? "" : "; ", describe(each), each.seconds);
  options_.tell(fmt::format("step {}: the job has waited {:.0f} s for {}", step(), wait.seconds,
                            names.empty() ? "ranks that wait for one another" : names));
}

// The job and the MPI that it needs, in the order they come and go.
class OpenMpiJob : private Session, public MpiJob {
 public:
  using MpiJob::MpiJob;
};

}  // namespace

bool launched_by_mpi() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  return is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMIX_RANK") || is_set("PMI_RANK");
}

// The first words of what may be a paragraph.
std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view version(text.data());
  return std::string(version.substr(0, std::min(version.find_first_of(",\n"), size_t{60})));
}

std::unique_ptr<Job> open_mpi_job(const JobOptions& options) {
  const MpiStartTimeout watch(options.timeout_seconds);
  return std::make_unique<OpenMpiJob>(options);
}

}  // namespace segue

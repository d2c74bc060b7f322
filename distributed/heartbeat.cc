#include "distributed/heartbeat.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "base/process_status.h"
#include "base/stopwatch.h"

namespace segue {

namespace {

constexpr int kBytes = static_cast<int>(sizeof(Heartbeat::Sign));

// Writes the end of a name that is too long: it is a path, whose end says more.
void write_name(const std::string& name, std::array<char, 240>& to) {
  const size_t length = std::min(name.size(), to.size() - 1);
  std::copy_n(name.end() - static_cast<ptrdiff_t>(length), length, to.begin());
}

std::string name_in(const std::array<char, 240>& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

}  // namespace

Heartbeat::Heartbeat(MPI_Comm ranks, double interval_seconds, std::function<bool()> is_waiting,
                     std::function<void(const Heartbeat&)> beaten)
    : ranks_(ranks), interval_(interval_seconds), is_waiting_(std::move(is_waiting)), beaten_(std::move(beaten)) {
  int size = 1;
  MPI_Comm_rank(ranks, &rank_);
  MPI_Comm_size(ranks, &size);
  seen_.resize(static_cast<size_t>(size));
  for (int r = 0; r < size; ++r) {
    if (r != rank_) others_.push_back({.rank = r});
  }
  thread_ = std::jthread([this](const std::stop_token& end) { beat(end); });
}

double Heartbeat::longest_silence() const {
  const std::lock_guard lock(mutex_);
  double longest = 0.0;
  for (size_t r = 0; r < seen_.size(); ++r) {
    if (static_cast<int>(r) != rank_) longest = std::max(longest, seconds_since(seen_[r].heard));
  }
  return longest;
}

std::vector<Heartbeat::Stuck> Heartbeat::stuck_for(double seconds) const {
  const std::lock_guard lock(mutex_);
  std::vector<Stuck> stuck = stuck_for(seconds, false);
  if (!stuck.empty()) return stuck;
  stuck = stuck_for(seconds, true);
  return stuck.size() == seen_.size() ? stuck : std::vector<Stuck>();
}

Heartbeat::Wait Heartbeat::longest_wait() const {
  const std::lock_guard lock(mutex_);
  Wait wait;
  for (const Stuck& waiting : stuck_for(0.0, true)) wait.seconds = std::max(wait.seconds, waiting.seconds);
  wait.awaited = stuck_for(0.0, false);
  return wait;
}

std::vector<Heartbeat::Stuck> Heartbeat::stuck_for(double seconds, bool waiting) const {
  std::vector<Stuck> stuck;
  for (size_t r = 0; r < seen_.size(); ++r) {
    const Seen& seen = seen_[r];
    const double since = seconds_since(seen.moved);
    if ((seen.sign.is_waiting != 0) != waiting || since < seconds) continue;
    stuck.push_back({.rank = static_cast<int>(r), .seconds = since, .what = waiting ? "" : name_in(seen.sign.what)});
  }
  return stuck;
}

// Nobody waits for a sign to be sent: the next one will do.
void Heartbeat::beat(const std::stop_token& end) {
  std::mutex pause;
  std::unique_lock lock(pause);
  do {
    const ProcessStatus status = current_process_status();
    Sign mine{.progress = status.progress, .is_waiting = is_waiting_() ? 1U : 0U};
    write_name(status.activity, mine.what);
    take_in(rank_, mine);
    for (Other& other : others_) {
      send(other, mine);
      listen(other);
    }
    if (beaten_) beaten_(*this);
  } while (!std::condition_variable_any().wait_for(lock, end, interval_, [&] { return end.stop_requested(); }));
  for (Other& other : others_) finish(other);
}

void Heartbeat::send(Other& other, const Sign& sign) {
  int is_sent = 1;
  if (MPI_Test(&other.sending, &is_sent, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_sent == 0) return;
  *other.outgoing = sign;
  MPI_Isend(other.outgoing.get(), kBytes, MPI_BYTE, other.rank, 0, ranks_, &other.sending);
}

// Takes in all signs that have come.
void Heartbeat::listen(Other& other) {
  for (int heard = 1; heard != 0;) {
    if (other.receiving == MPI_REQUEST_NULL)
      MPI_Irecv(&other.incoming, kBytes, MPI_BYTE, other.rank, 0, ranks_, &other.receiving);
    if (MPI_Test(&other.receiving, &heard, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    if (heard != 0) take_in(other.rank, other.incoming);
  }
}

void Heartbeat::take_in(int rank, const Sign& sign) {
  const std::lock_guard lock(mutex_);
  Seen& seen = seen_[static_cast<size_t>(rank)];
  seen.heard = Clock::now();
  if (sign.progress != seen.sign.progress) seen.moved = seen.heard;
  seen.sign = sign;
}

// A sign that MPI has not sent yet stays where it is: MPI will read it.
void Heartbeat::finish(Other& other) {
  if (other.receiving != MPI_REQUEST_NULL) {
    MPI_Cancel(&other.receiving);
    MPI_Wait(&other.receiving, MPI_STATUS_IGNORE);
  }
  int is_sent = 1;
  MPI_Test(&other.sending, &is_sent, MPI_STATUS_IGNORE);
  if (is_sent != 0) return;
  MPI_Request_free(&other.sending);
  static_cast<void>(other.outgoing.release());
}

}  // namespace segue

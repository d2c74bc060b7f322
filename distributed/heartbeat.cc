// One byte to each, now and then.
#include "distributed/heartbeat.h"

#include <algorithm>
#include <condition_variable>

namespace segue {

namespace {

constexpr char kSign = 1;

}  // namespace

Heartbeat::Heartbeat(MPI_Comm ranks, double interval_seconds) : ranks_(ranks), interval_(interval_seconds) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  for (int r = 0; r < size; ++r) {
    if (r != rank) others_.push_back({.rank = r, .heard = Clock::now()});
  }
  thread_ = std::jthread([this](const std::stop_token& end) { beat(end); });
}

double Heartbeat::longest_silence() const {
  const std::lock_guard lock(mutex_);
  Clock::time_point first = Clock::now();
  for (const Other& other : others_) first = std::min(first, other.heard);
  return std::chrono::duration<double>(Clock::now() - first).count();
}

// Nobody waits for a sign to be sent: the next one will do.
void Heartbeat::beat(const std::stop_token& end) {
  std::mutex pause;
  std::unique_lock lock(pause);
  do {
    for (Other& other : others_) {
      MPI_Request sent = MPI_REQUEST_NULL;
      if (MPI_Isend(&kSign, 1, MPI_CHAR, other.rank, 0, ranks_, &sent) == MPI_SUCCESS) MPI_Request_free(&sent);
      listen(other);
    }
  } while (!std::condition_variable_any().wait_for(lock, end, interval_, [&] { return end.stop_requested(); }));
  for (Other& other : others_) {
    if (other.request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&other.request);
    MPI_Wait(&other.request, MPI_STATUS_IGNORE);
  }
}

// Takes in all signs that have come.
void Heartbeat::listen(Other& other) {
  for (int heard = 1; heard != 0;) {
    if (other.request == MPI_REQUEST_NULL) MPI_Irecv(&other.sign, 1, MPI_CHAR, other.rank, 0, ranks_, &other.request);
    if (MPI_Test(&other.request, &heard, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    if (heard == 0) return;
    const std::lock_guard lock(mutex_);
    other.heard = Clock::now();
  }
}

}  // namespace segue

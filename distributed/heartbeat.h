// Signs of life between the ranks of MPI, by a thread of each, while a rank may be busy on its own for long.
#pragma once

#include <mpi.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace segue {

class Heartbeat {
 public:
  // `ranks` carries nothing else. A sign goes to every other rank once in `interval_seconds`.
  Heartbeat(MPI_Comm ranks, double interval_seconds);

  // Seconds since the last sign of the rank that has given none for longest; at first, since the beginning.
  double longest_silence() const;

 private:
  using Clock = std::chrono::steady_clock;

  // A rank that is listened to.
  struct Other {
    int rank;
    char sign = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    Clock::time_point heard;
  };
  void beat(const std::stop_token& end);
  void listen(Other& other);

  MPI_Comm ranks_;
  std::chrono::duration<double> interval_;
  mutable std::mutex mutex_;  // of the times
  std::vector<Other> others_;
  std::jthread thread_;
};

}  // namespace segue

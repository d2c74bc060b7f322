// Heartbeats between the ranks of MPI, each sent by a thread of its own, because a rank may be busy by itself for long.
// A heartbeat says whether its rank makes progress: the sending thread would run on for ever while the rank's work is
// stuck.
#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace segue {

class Heartbeat {
 public:
  // A rank's report about itself.
  struct Sign {
    uint64_t progress = 0;    // pieces of work done (base/process_status.h)
    uint64_t is_waiting = 0;  // for other ranks; otherwise it works
    std::array<char, 240> what{};
  };
  // A rank that has not got on for some time.
  struct Stuck {
    int rank = 0;
    double seconds = 0.0;
    std::string what;  // it does; empty when it is waiting for others
  };

  // `ranks` carries nothing else, and is not freed while another communicator may be made: a sign that is under way
  // when a heartbeat ends would reach that one. A sign goes to every other rank once in `interval_seconds`; after it
  // `beaten` is called, by the heartbeat's thread. `is_waiting` says whether this rank waits.
  Heartbeat(MPI_Comm ranks, double interval_seconds, std::function<bool()> is_waiting,
            std::function<void(const Heartbeat&)> beaten = nullptr);

  // Seconds since the last sign of the rank that has given none for longest; at first, since the beginning.
  double longest_silence() const;

  // The ranks that work and have not got on for so long; where all wait for one another, those that wait.
  std::vector<Stuck> stuck_for(double seconds) const;

  // The longest time that a rank waits, and whom it can be waiting for: those that work.
  struct Wait {
    double seconds = 0.0;
    std::vector<Stuck> awaited;
  };
  Wait longest_wait() const;

 private:
  using Clock = std::chrono::steady_clock;

  // The latest report of a rank, this one included.
  struct Seen {
    Sign sign = {};
    Clock::time_point heard = Clock::now();
    Clock::time_point moved = Clock::now();  // when its progress was another one
  };
  // The talk with another rank.
  struct Other {
    int rank;
    Sign incoming = {};
    MPI_Request receiving = MPI_REQUEST_NULL;
    std::unique_ptr<Sign> outgoing = std::make_unique<Sign>();
    MPI_Request sending = MPI_REQUEST_NULL;
  };
  void beat(const std::stop_token& end);
  void send(Other& other, const Sign& sign);
  void listen(Other& other);
  void take_in(int rank, const Sign& sign);
  static void finish(Other& other);
  std::vector<Stuck> stuck_for(double seconds, bool waiting) const;

  MPI_Comm ranks_;
  int rank_ = 0;
  std::chrono::duration<double> interval_;
  std::function<bool()> is_waiting_;
  std::function<void(const Heartbeat&)> beaten_;
  mutable std::mutex mutex_;  // of what was seen
  std::vector<Seen> seen_;    // of every rank
  std::vector<Other> others_;
  std::jthread thread_;
};

}  // namespace segue

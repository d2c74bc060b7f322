// A time-out for the start of MPI, which otherwise waits for other ranks for ever and cannot be stopped.
#pragma once

#include <thread>

namespace segue {

// Ends the process with the exit code of PeerError, and a line that names this rank and its host, when it lives for
// longer than `timeout_seconds`. An exception would not reach a thread that MPI keeps.
class MpiStartTimeout {
 public:
  explicit MpiStartTimeout(double timeout_seconds);

 private:
  std::jthread watcher_;
};

}  // namespace segue

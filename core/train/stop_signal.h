// SIGINT, SIGTERM and SIGUSR1 ask the run to finish its step, save and stop.
#pragma once

#include <atomic>
#include <csignal>
#include <thread>

namespace segue {

// While one exists the first of these signals only sets a flag. After it a SIGINT, of a person who asks again, ends the
// process at once; the other two do nothing more until the process ends. Make it before any thread that computes: a
// thread started earlier may still be interrupted.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  bool requested() const { return requested_; }

 private:
  void wait(const std::stop_token& end);

  std::atomic<bool> requested_ = false;
  sigset_t mask_before_{};
  std::jthread waiter_;
};

}  // namespace segue

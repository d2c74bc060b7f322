// On SIGINT, SIGTERM or SIGUSR1 the run finishes its step, saves and stops.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>

#include "base/signal_waiter.h"

namespace segue {

// While one exists the first of these signals sets a flag, and a line says so at once. For two seconds everything that
// follows is taken for a repetition: wrappers signal a process and its group, launchers pass a signal on and send their
// own. A SIGINT after that is of a person who asks again, and ends the process at once, with a line that says what was
// saved; the other two do nothing more until the process ends. Once it is gone all three are ignored: it lives as long
// as the process has work, and a run that has finished must not end as one that was killed. Make it before any thread
// that computes: a thread started earlier may still be interrupted.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  bool requested() const { return requested_; }

  // Lines are said from now on, on behalf of so many processes: in a job one speaks for all. A SIGTERM to one of
  // several is not reported, since launchers also send it to end a job whose error has been reported.
  void speak_for(int processes) const;
  // The step that the last line names; the newest save may be of step 0.
  void note_saved(int64_t step) const { saved_step_ = step; }

 private:
  void hear(int signal);
  void say(const std::string& line) const;
  void say_first() const;
  void hear_first(int signal);
  [[noreturn]] void quit() const;

  std::atomic<bool> requested_ = false;
  std::atomic<int> signal_ = 0;                   // the first
  mutable std::atomic<int> processes_ = 0;        // spoken for
  mutable std::atomic<bool> is_said_ = false;     // the first line
  mutable std::atomic<int64_t> saved_step_ = -1;  // none
  std::chrono::steady_clock::time_point first_;
  SignalWaiter waiter_;  // last: it may hear one at once
};

}  // namespace segue

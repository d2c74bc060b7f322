// Signals that a thread of their own waits for. A handler could neither delete nor print, and would interrupt what
// computes: oneDNN 2.6's matrix products for AVX-512 do not survive that, since they keep values below the stack
// pointer, where the handler's frame is laid, and then write wherever the damaged pointers lead.
#pragma once

#include <csignal>
#include <functional>
#include <string_view>
#include <thread>

namespace segue {

// Make it before any thread that computes: a thread started earlier may still be interrupted.
class SignalWaiter {
 public:
  // `heard` is called in the waiting thread, once for each signal of the set that comes. Throws FileError where the
  // system has no descriptors left.
  SignalWaiter(const sigset_t& signals, std::function<void(int signal)> heard);
  ~SignalWaiter();  // signals are delivered again as before
  SignalWaiter(const SignalWaiter&) = delete;
  SignalWaiter& operator=(const SignalWaiter&) = delete;

  // `heard` is called no more; signals stay blocked.
  void stop();

 private:
  void wait();

  sigset_t mask_before_{};
  int signals_ = -1;  // descriptors
  int end_ = -1;
  std::function<void(int)> heard_;
  std::thread thread_;
};

// Writes "segue: " and the line to standard error in one piece, past the buffers: another thread may hold those while
// it waits for a terminal or a pipe. A line of progress is erased.
void say_past_buffers(std::string_view line);

// As the signal would have ended the process by itself; what it waits for, a disk perhaps, is not waited for.
[[noreturn]] void end_by_signal(int signal);

}  // namespace segue

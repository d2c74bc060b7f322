// A thread that waits for the signals, and keeps them from all others. A signal handler would interrupt computations,
// and oneDNN 2.6's matrix products for AVX-512 do not survive that: they keep values below the stack pointer, where the
// handler's frame is laid, and then write wherever the damaged pointers lead.
#include "core/train/stop_signal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "base/terminal_line.h"

namespace segue {

namespace {

// From a person, from a system that ends processes, and from Slurm or mpirun, which warn a job.
constexpr std::array kStopSignals{SIGINT, SIGTERM, SIGUSR1};

constexpr std::chrono::seconds kRepetitions(2);

// The longest that the end of a StopSignal takes.
constexpr timespec kPatience{.tv_sec = 0, .tv_nsec = 50'000'000};

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kStopSignals) sigaddset(&signals, signal);
  return signals;
}

// A shell makes its background commands ignore SIGINT; ignored signals cannot be waited for.
void stop_ignoring() {
  for (const int signal : kStopSignals) static_cast<void>(std::signal(signal, SIG_DFL));
}

// Signals that come once a run has saved, or failed, and is about to end must not change how it ends.
void ignore_from_now_on() {
  for (const int signal : kStopSignals) static_cast<void>(std::signal(signal, SIG_IGN));
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, &mask_before_);
  stop_ignoring();
  waiter_ = std::jthread([this](const std::stop_token& end) { wait(end); });
}

StopSignal::~StopSignal() {
  waiter_ = {};
  ignore_from_now_on();
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void StopSignal::wait(const std::stop_token& end) {
  const sigset_t signals = stop_signals();
  while (!end.stop_requested()) {
    const int signal = sigtimedwait(&signals, nullptr, &kPatience);
    if (signal < 0) continue;
    if (!requested_) {
      hear_first(signal);
    } else if (signal == SIGINT && std::chrono::steady_clock::now() - first_ >= kRepetitions) {
      quit();
    }
  }
}

void StopSignal::hear_first(int signal) {
  first_ = std::chrono::steady_clock::now();
  signal_ = signal;
  requested_ = true;
  say_first();
}

void StopSignal::speak_for(int processes) const {
  processes_ = processes;
  if (requested_) say_first();
}

void StopSignal::say_first() const {
  const int processes = processes_;
  if (processes == 0 || (processes > 1 && signal_ == SIGTERM) || is_said_.exchange(true)) return;
  say(signal_ == SIGINT ? "stopping after this step; again to quit without saving"
                        : "stopping after this step; SIGINT to quit without saving");
}

// In one piece, past the buffers: another thread may hold those while it waits for a terminal or a pipe.
void StopSignal::say(const char* line) const {
  if (processes_ == 0) return;
  const std::string text = fmt::format("{}segue: {}\n", erasing_line(), line);
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

// As the signal would have ended the process by itself; what it waits for, a disk perhaps, is not waited for.
void StopSignal::quit() const {
  const int64_t step = saved_step_;
  say(step < 0 ? "quit; nothing was saved" : fmt::format("quit; nothing was saved since step {}", step).c_str());
  static_cast<void>(std::signal(SIGINT, SIG_DFL));
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
  static_cast<void>(::raise(SIGINT));
  std::_Exit(128 + SIGINT);
}

}  // namespace segue

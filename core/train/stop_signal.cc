#include "core/train/stop_signal.h"

#include <fmt/format.h>

#include <array>
#include <string>

namespace segue {

namespace {

// From a person, from a system that ends processes, and from Slurm or mpirun, which warn a job.
constexpr std::array kStopSignals{SIGINT, SIGTERM, SIGUSR1};

constexpr std::chrono::seconds kRepetitions(2);

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

StopSignal::StopSignal() : waiter_(stop_signals(), [this](int signal) { hear(signal); }) { stop_ignoring(); }

StopSignal::~StopSignal() {
  waiter_.stop();
  ignore_from_now_on();
}

void StopSignal::hear(int signal) {
  if (!requested_) {
    hear_first(signal);
  } else if (signal == SIGINT && std::chrono::steady_clock::now() - first_ >= kRepetitions) {
    quit();
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
  say(fmt::format("stopping after this step; {} after {} seconds to quit without saving",
                  signal_ == SIGINT ? "again" : "SIGINT", kRepetitions.count()));
}

void StopSignal::say(const std::string& line) const {
  if (processes_ > 0) say_past_buffers(line);
}

void StopSignal::quit() const {
  const int64_t step = saved_step_;
  say(step < 0 ? "quit; nothing was saved" : fmt::format("quit; nothing was saved since step {}", step));
  end_by_signal(SIGINT);
}

}  // namespace segue

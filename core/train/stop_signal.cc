// A thread that waits for the signals, and keeps them from all others. A signal handler would interrupt computations,
// and oneDNN 2.6's matrix products for AVX-512 do not survive that: they keep values below the stack pointer, where the
// handler's frame is laid, and then write wherever the damaged pointers lead.
#include "core/train/stop_signal.h"

#include <array>
#include <condition_variable>
#include <ctime>
#include <mutex>

namespace segue {

namespace {

// From a person, from a system that ends processes, and from Slurm or mpirun, which warn a job.
constexpr std::array kStopSignals{SIGINT, SIGTERM, SIGUSR1};

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

// Launchers pass a signal on and send their own as well; the save under way must not end by that.
void ignore_repetitions() {
  for (const int signal : {SIGTERM, SIGUSR1}) static_cast<void>(std::signal(signal, SIG_IGN));
}

void wait_for_end(const std::stop_token& end) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait(lock, end, [] { return false; });
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
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void StopSignal::wait(const std::stop_token& end) {
  const sigset_t signals = stop_signals();
  while (sigtimedwait(&signals, nullptr, &kPatience) < 0) {
    if (end.stop_requested()) return;
  }
  ignore_repetitions();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // a further SIGINT comes here, and ends the process
  requested_ = true;
  wait_for_end(end);
}

}  // namespace segue

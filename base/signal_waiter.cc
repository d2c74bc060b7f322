// The thread waits for the signals and for its end in one call, so that it ends at once.
#include "base/signal_waiter.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/terminal_line.h"

namespace segue {

SignalWaiter::SignalWaiter(const sigset_t& signals, std::function<void(int signal)> heard)
    : signals_(::signalfd(-1, &signals, SFD_CLOEXEC)), end_(::eventfd(0, EFD_CLOEXEC)), heard_(std::move(heard)) {
  if (signals_ < 0 || end_ < 0) throw FileError("signals: cannot open a descriptor to wait for them; raise ulimit -n");
  pthread_sigmask(SIG_BLOCK, &signals, &mask_before_);
  thread_ = std::thread([this] { wait(); });
}

SignalWaiter::~SignalWaiter() {
  stop();
  ::close(signals_);
  ::close(end_);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void SignalWaiter::stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  static_cast<void>(!::write(end_, &one, sizeof one));
  thread_.join();
}

void SignalWaiter::wait() {
  std::array<pollfd, 2> ready{{{signals_, POLLIN, 0}, {end_, POLLIN, 0}}};
  while (true) {
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;  // interrupted by a debugger, perhaps
    if (ready[1].revents != 0) return;
    signalfd_siginfo signal{};
    if (::read(signals_, &signal, sizeof signal) == sizeof signal) heard_(static_cast<int>(signal.ssi_signo));
  }
}

void say_past_buffers(std::string_view line) {
  const std::string text = fmt::format("{}segue: {}\n", erasing_line(), line);
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

void end_by_signal(int signal) {
  static_cast<void>(std::signal(signal, SIG_DFL));
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  static_cast<void>(::raise(signal));
  std::_Exit(128 + signal);
}

}  // namespace segue

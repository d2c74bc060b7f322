// The one flag a signal handler may touch.
#include "core/train/stop_signal.h"

#include <csignal>

namespace segue {

namespace {

// A signal handler has no other way to speak to the program.
volatile std::sig_atomic_t stop_requested = 0;

void request_stop(int signal) {
  stop_requested = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
  stop_requested = 0;
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
}

StopSignal::~StopSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool StopSignal::requested() const { return stop_requested != 0; }

}  // namespace segue

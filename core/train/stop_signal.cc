// The one flag a signal handler may touch.
#include "core/train/stop_signal.h"

#include <csignal>

namespace segue {

namespace {

// A signal handler has no other way to speak to the program.
volatile std::sig_atomic_t stop_requested = 0;

using Action = void (*)(int);

void act_on(int signal, Action action) {
  static_cast<void>(std::signal(signal, action));  // fails only for signals that do not exist
}

void request_stop(int signal) {
  stop_requested = 1;
  act_on(signal, SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
  stop_requested = 0;
  act_on(SIGINT, request_stop);
  act_on(SIGTERM, request_stop);
}

StopSignal::~StopSignal() {
  act_on(SIGINT, SIG_DFL);
  act_on(SIGTERM, SIG_DFL);
}

bool StopSignal::requested() const { return stop_requested != 0; }

}  // namespace segue

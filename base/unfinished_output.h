// Output that appears under its name whole or not at all, also when a signal ends the process: a Ctrl-C leaves nothing
// half-written behind.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "base/signal_waiter.h"

namespace segue {

// While one exists, SIGINT, SIGTERM and SIGHUP delete all unfinished output before they end the process as they would
// by themselves, and a line says what was not written. Make it before any thread that computes, which would otherwise
// take the signal; commands that stop and save have a StopSignal instead (core/train/stop_signal.h). A signal that the
// process ignores stays ignored.
class CleanInterrupt {
 public:
  // `idle`: what to say where nothing was being written; empty: nothing.
  explicit CleanInterrupt(std::string_view idle = "");

 private:
  SignalWaiter waiter_;
};

// A file or directory at `partial` that will become `target`. Others may exist at the same time.
class UnfinishedOutput {
 public:
  // `make`, if it is there to make the first of it, is called while no signal ends the process.
  UnfinishedOutput(std::filesystem::path partial, std::filesystem::path target,
                   const std::function<void()>& make = nullptr);
  ~UnfinishedOutput();  // deletes nothing
  UnfinishedOutput(const UnfinishedOutput&) = delete;
  UnfinishedOutput& operator=(const UnfinishedOutput&) = delete;

  // Calls `rename`, which makes it the target, while no signal deletes it; from then on none does.
  void publish(const std::function<void()>& rename);

 private:
  std::filesystem::path partial_;
};

}  // namespace segue

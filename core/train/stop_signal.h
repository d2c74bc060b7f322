// SIGINT and SIGTERM ask the run to finish its step, save and stop.
#pragma once

namespace segue {

// While one exists the two signals only set a flag; a second signal of the same kind ends the process at once.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  bool requested() const;
};

}  // namespace segue

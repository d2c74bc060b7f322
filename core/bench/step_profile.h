// Where the time of a training step goes: its operations by name and direction, each beside what the machine reaches.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/bench/report.h"
#include "core/tape/step_observer.h"
#include "kernels/cuda/queue.h"
#include "kernels/queue.h"

namespace segue {

// Parts of one name and direction. All per step.
struct ProfileRow {
  std::string name;
  std::string pass;
  double calls = 0.0;
  double seconds = 0.0;
  double flops = 0.0;
  double bytes = 0.0;

  // The time that a part of such products, or without any of such bytes, takes at the ceilings, as a share of its time.
  double share_of_roof(const Ceilings& ceilings) const;
};

struct StepProfile {
  double seconds = 0.0;  // of a step
  int64_t steps = 0;
  bool by_events = false;        // of a GPU; otherwise by the clock of the host
  std::vector<ProfileRow> rows;  // the longest first; their seconds and `elsewhere` are those of the step
  double elsewhere() const;      // outside of all rows
};

// Collects steps. Of those the slower half is left out, as others may have had the processors then.
class StepProfiler : public StepObserver {
 public:
  explicit StepProfiler(kernels::Queue& queue) : queue_(queue), whole_(queue) {}

  void observe_step(const std::function<void()>& run);  // whose parts are reported to it
  StepProfile profile() const;

  void begin() override;
  void end(StepPart part) override;

 private:
  // The time between two points of the queue: measured by the GPU, or on the CPU by a clock.
  class Span {
   public:
    explicit Span(kernels::Queue& queue);
    void start();
    void stop();
    double seconds() const;  // once the queue has come to its end

   private:
    using Clock = std::chrono::steady_clock;
    kernels::Queue* queue_;
    std::optional<cuda::Stopwatch> stopwatch_;
    Clock::time_point started_, stopped_;
  };
  using Rows = std::map<std::pair<std::string, std::string>, ProfileRow>;
  struct Step {
    double seconds = 0.0;
    Rows rows;
  };

  kernels::Queue& queue_;
  Span whole_;
  std::vector<Span> spans_;      // of the step's parts, and kept for the next step
  std::vector<StepPart> parts_;  // of the current step
  std::vector<Step> steps_;
};

std::string format_profile(const StepProfile& profile, const Ceilings& ceilings);
OrderedJson to_json(const StepProfile& profile, const Ceilings& ceilings);

}  // namespace segue

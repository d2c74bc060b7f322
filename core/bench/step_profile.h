// Where the time of a training step goes: its operations by name and direction, each beside what the machine reaches.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/bench/report.h"
#include "core/model/step_observer.h"

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
  std::vector<ProfileRow> rows;  // the longest first; their seconds and `elsewhere` are those of the step
  double elsewhere() const;      // outside of all rows
};

// Collects steps. Of those the slower half is left out, as others may have had the processors then.
class StepProfiler {
 public:
  StepObserver observer();
  void end_step(double seconds);  // of the step that ends
  StepProfile profile() const;

 private:
  using Step = std::map<std::pair<std::string, std::string>, ProfileRow>;
  struct Finished {
    double seconds = 0.0;
    Step parts;
  };
  Step current_;
  std::vector<Finished> steps_;
};

std::string format_profile(const StepProfile& profile, const Ceilings& ceilings);
OrderedJson to_json(const StepProfile& profile, const Ceilings& ceilings);

}  // namespace segue

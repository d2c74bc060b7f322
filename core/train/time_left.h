// Estimates how long a run will still take: its steps, and the evaluations and saves between them, at what these have
// cost so far.
#pragma once

#include <cstdint>
#include <string>

#include "core/config/config.h"

namespace segue {

// What is still to come besides steps.
struct PausesLeft {
  int64_t evaluations = 0;
  int64_t saves = 0;  // without those that only a better evaluation asks for
};

// `evaluation_pending`: the evaluation after `step`, the last one trained, is still to be made; `is_saved`: it has a
// checkpoint already.
PausesLeft pauses_left(const Config& config, int64_t step, bool evaluation_pending, bool is_saved);

// The mean of what was measured by this process.
class MeanSeconds {
 public:
  void add(double seconds) {
    sum_ += seconds;
    ++count_;
  }
  bool is_known() const { return count_ > 0; }
  double value() const { return sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0.0;
  int64_t count_ = 0;
};

struct PauseCosts {
  MeanSeconds evaluation;  // with the save that a better one asks for
  MeanSeconds save;
};

// "1 min 52 s"; while nobody knows what some of it costs, "28 s + 4 evaluations + 3 saves". `step_seconds`: of all
// steps that are left.
std::string describe_time_left(double step_seconds, const PausesLeft& left, const PauseCosts& costs);

}  // namespace segue

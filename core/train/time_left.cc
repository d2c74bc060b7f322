#include "core/train/time_left.h"

#include <fmt/format.h>

#include <string_view>

#include "base/text.h"

namespace segue {
namespace {

// Multiples of `interval` behind `step` and before the last step.
int64_t due_between(int64_t interval, int64_t step, int64_t last) {
  if (interval == 0 || step >= last) return 0;
  return (last - 1) / interval - step / interval;
}

}  // namespace

PausesLeft pauses_left(const Config& config, int64_t step, bool evaluation_pending, bool is_saved) {
  const int64_t last = config.training.max_step;
  const bool evaluates = config.evaluation.interval > 0;
  PausesLeft left{.evaluations = due_between(config.evaluation.interval, step, last) + (evaluation_pending ? 1 : 0),
                  .saves = due_between(config.checkpoint.interval, step, last)};
  const int64_t at_end = evaluates ? 2 : 1;  // before the last evaluation and after it
  if (step >= last) {
    left.saves = (is_saved ? 0 : 1) + (evaluation_pending ? 1 : 0);
    return left;
  }
  left.evaluations += evaluates ? 1 : 0;
  left.saves += at_end;
  const bool is_due = step > 0 && config.checkpoint.interval > 0 && step % config.checkpoint.interval == 0;
  if (is_due && !is_saved) ++left.saves;
  return left;
}

std::string describe_time_left(double step_seconds, const PausesLeft& left, const PauseCosts& costs) {
  double seconds = step_seconds;
  std::string unknown;
  const auto add = [&](int64_t count, const MeanSeconds& cost, std::string_view what) {
    if (count == 0) return;
    if (cost.is_known()) {
      seconds += static_cast<double>(count) * cost.value();
    } else {
      unknown += " + " + counted(count, what);
    }
  };
  add(left.evaluations, costs.evaluation, "evaluation");
  add(left.saves, costs.save, "save");
  return human_duration(seconds) + unknown;
}

}  // namespace segue

// Warm-up, decay, and the three published readings of both.
#include "core/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace segue {

namespace {

double inverse_square_root(double lr, double s, double warmup) {
  if (s > warmup) return lr / std::sqrt(s);
  return warmup > 0.0 ? lr * s / std::pow(warmup, 1.5) : lr;
}

// The share of the decay that is behind, in [0, 1].
double decayed_share(const ScheduleConfig& schedule, double s, double max_step) {
  const bool shifted = schedule.rule != ScheduleRule::kPytorch;
  const double start = shifted ? static_cast<double>(schedule.warmup_step) : 0.0;
  return std::clamp((s - start) / std::max(1.0, max_step - start), 0.0, 1.0);
}

}  // namespace

double learning_rate(const ScheduleConfig& schedule, double lr, int64_t max_step, int64_t update) {
  const auto s = static_cast<double>(update - 1);
  const auto warmup = static_cast<double>(schedule.warmup_step);
  if (schedule.kind == ScheduleKind::kInvSqrt) return inverse_square_root(lr, s, warmup);
  const bool first_at_full_rate = schedule.rule != ScheduleRule::kTensorflow;
  if (update == 1 && first_at_full_rate) return lr;
  if (s < warmup) return lr * s / warmup;

  const double share = decayed_share(schedule, s, static_cast<double>(max_step));
  switch (schedule.kind) {
    case ScheduleKind::kCosine:
      return schedule.eta_min + (lr - schedule.eta_min) * (1.0 + std::cos(std::numbers::pi * share)) / 2.0;
    case ScheduleKind::kLinear:
      return schedule.eta_min + (lr - schedule.eta_min) * (1.0 - share);
    case ScheduleKind::kConstant:
    case ScheduleKind::kInvSqrt:
      break;
  }
  return lr;
}

}  // namespace segue

#include "core/optimizer/schedule.h"

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

void PlateauState::describe(JsonFields& fields) {
  fields.required("rate", rate,
                  {.meaning = "learning rate since the last evaluation; 0: before the first", .minimum = 0});
  fields.required("best_loss", best_loss,
                  {.meaning = "loss that the next one is compared to", .unit = "nats per token"});
  fields.required("bad_evaluations", bad_evaluations,
                  {.meaning = "evaluations since that were not lower", .minimum = 0});
}

void follow_loss(const ScheduleConfig& schedule, double lr, int64_t step, double loss, PlateauState& plateau) {
  constexpr double kThreshold = 1e-4;
  constexpr double kSmallestChange = 1e-8;
  const bool is_first = plateau.rate == 0.0;
  if (is_first) plateau.rate = lr;
  if (is_first || loss < plateau.best_loss * (1.0 - kThreshold)) {
    plateau.best_loss = loss;
    plateau.bad_evaluations = 0;
    return;
  }
  if (++plateau.bad_evaluations <= schedule.patience) return;
  plateau.bad_evaluations = 0;
  const double reduced = std::max(plateau.rate * schedule.decay_rate, schedule.eta_min);
  if (step >= schedule.warmup_step && plateau.rate - reduced > kSmallestChange) plateau.rate = reduced;
}

double learning_rate(const ScheduleConfig& schedule, double lr, int64_t max_step, int64_t update,
                     const PlateauState& plateau) {
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
    case ScheduleKind::kPlateau:
      return plateau.rate > 0.0 ? plateau.rate : lr;
    case ScheduleKind::kConstant:
    case ScheduleKind::kInvSqrt:
      break;
  }
  return lr;
}

double learning_rate(const Config& config, int64_t update, const PlateauState& plateau) {
  return lr_factor_at(config, update) *
         learning_rate(config.schedule, config.optimizer.lr, config.training.max_step, update, plateau);
}

}  // namespace segue

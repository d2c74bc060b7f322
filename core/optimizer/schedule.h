// The learning-rate schedule, which gives the learning rate of every update.
#pragma once

#include <cstdint>

#include "base/json_fields.h"
#include "core/config/config.h"

namespace segue {

// The state of the "plateau" schedule.
struct PlateauState {
  double rate = 0.0;  // since the last evaluation; 0: there was none, and the rate is `lr`
  double best_loss = 0.0;
  int64_t bad_evaluations = 0;  // in a row
  void describe(JsonFields& fields);
};

// Takes in the loss of an evaluation after `step` updates, as torch.optim.lr_scheduler.ReduceLROnPlateau does: it is
// good when it is lower than the best so far by a share of 1e-4; after more than `patience` bad ones in a row the rate
// becomes max(rate * decay_rate, eta_min), unless that differs by less than 1e-8. During the warm-up the rate stays.
void follow_loss(const ScheduleConfig& schedule, double lr, int64_t step, double loss, PlateauState& plateau);

// Learning rate of update `update`, counted from 1, for a run of `max_step` updates. With s = update - 1:
//   warm-up  lr * s / warmup_step while s < warmup_step
//   cosine   eta_min + (lr - eta_min) * (1 + cos(pi * x)) / 2
//   linear   eta_min + (lr - eta_min) * (1 - x)
//   inv_sqrt lr * warm-up s / warmup_step^1.5, then lr / sqrt(s)
//   plateau  what `plateau` has come to
// where x = s / max_step by the "pytorch" rule (a small jump at the end of the warm-up), and
// (s - warmup_step) / (max_step - warmup_step) by the "nvidia" and "tensorflow" rules. The authors' PyTorch code and
// NVIDIA's set no rate before their first update, which therefore runs at the full lr; TensorFlow's runs at 0 when
// there is a warm-up.
double learning_rate(const ScheduleConfig& schedule, double lr, int64_t max_step, int64_t update,
                     const PlateauState& plateau = {});

// The one that a run of such a config has: times lr_factor in a stage that says so. `plateau` never holds the factor.
double learning_rate(const Config& config, int64_t update, const PlateauState& plateau);

}  // namespace segue

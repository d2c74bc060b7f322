// The learning rate of every update.
#pragma once

#include <cstdint>

#include "core/config/config.h"

namespace segue {

// Learning rate of update `update`, counted from 1, for a run of `max_step` updates. With s = update - 1:
//   warm-up  lr * s / warmup_step while s < warmup_step
//   cosine   eta_min + (lr - eta_min) * (1 + cos(pi * x)) / 2
//   linear   eta_min + (lr - eta_min) * (1 - x)
//   inv_sqrt lr * warm-up s / warmup_step^1.5, then lr / sqrt(s)
// where x = s / max_step by the "pytorch" rule (a small jump at the end of the warm-up), and
// (s - warmup_step) / (max_step - warmup_step) by the "nvidia" and "tensorflow" rules. The authors' PyTorch code and
// NVIDIA's set no rate before their first update, which therefore runs at the full lr; TensorFlow's runs at 0 when
// there is a warm-up.
double learning_rate(const ScheduleConfig& schedule, double lr, int64_t max_step, int64_t update);

}  // namespace segue

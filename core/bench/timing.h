// How long something takes: the median of samples after a warm-up.
#pragma once

#include <cstdint>
#include <functional>

#include "base/json_fields.h"
#include "kernels/queue.h"

namespace segue {

struct Effort {
  int64_t warm_up = 10;
  int64_t samples = 20;
  double sample_seconds = 0.02;
  void describe(JsonFields& fields);
};

// Seconds per call.
struct Timing {
  double median = 0.0;
  double lowest = 0.0;
  double highest = 0.0;
  int64_t samples = 0;
  int64_t calls = 0;  // per sample
};

// Calls queue work; a sample ends when the work is done, so that what a single launch or wait costs the
// host counts only where it is longer than the work.
Timing time_calls(kernels::Queue& queue, const Effort& effort, const std::function<void()>& call);

}  // namespace segue

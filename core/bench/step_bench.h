// Times the training step of a model: forward, backward, clip and update, on random tokens and with full memory.
#pragma once

#include <cstdint>

#include "core/bench/report.h"
#include "core/bench/step_profile.h"
#include "core/bench/workbench.h"
#include "core/config/config.h"

namespace segue {

struct StepBench {
  Measurement measurement;
  StepProfile profile;  // of further steps; on a GPU queued operation by operation, not as a graph
  int64_t parameters = 0;
  int64_t activation_bytes = 0;
};

// Device and precision are those of the workbench, whatever the config says. Throws DivergedError when the last
// gradient is not finite, as other numbers may take another time.
StepBench bench_step(Workbench& workbench, const Effort& effort, const Config& config, int64_t vocab_size);

}  // namespace segue

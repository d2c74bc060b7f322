#include "core/bench/step_bench.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "core/bench/training_step.h"

namespace segue {

namespace {

// As many steps as were timed, but at least two.
StepProfile profile_step(kernels::Queue& queue, TrainingStep& step, const Timing& timing) {
  StepProfiler profiler(queue);
  step.observe(&profiler);
  const int64_t steps = std::max<int64_t>(2, timing.samples * timing.calls);
  for (int64_t i = 0; i < steps; ++i) profiler.observe_step([&] { step.run(); });
  step.observe(nullptr);
  return profiler.profile();
}

}  // namespace

StepBench bench_step(Workbench& workbench, const Effort& effort, const Config& config, int64_t vocab_size) {
  TrainingStep step(workbench, config, vocab_size, {0, config.training.batch_size});
  StepBench bench;
  bench.parameters = step.parameters();
  bench.activation_bytes = step.reserve();
  step.fill_memory();
  const Flops flops = step.flops();
  bench.measurement = {.name = "training step",
                       .timing = time_calls(workbench.queue(), effort, [&] { step.run(); }),
                       .flops = flops.forward + flops.backward,
                       .tokens = static_cast<double>(config.training.batch_size * last_lengths(config).tokens())};
  bench.profile = profile_step(workbench.queue(), step, bench.measurement.timing);
  const double norm = step.gradient_norm();
  if (!std::isfinite(norm))
    throw DivergedError("bench step: the gradient norm after the last step is {}: lower optimizer.lr ({}) with --set",
                        non_finite(norm), config.optimizer.lr);
  return bench;
}

}  // namespace segue

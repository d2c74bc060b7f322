// One rank's step, alone.
#include "core/bench/step_bench.h"

#include <cmath>

#include "core/bench/training_step.h"
#include "core/train/scored_targets.h"

namespace segue {

double training_flops(const ModelConfig& model, int64_t vocab_size, const SegmentShape& shape) {
  const double projection = 2.0 * static_cast<double>(model.d_model * model.n_head * model.d_head);
  const double positions =
      model.position.kind == PositionKind::kRelative ? static_cast<double>(shape.memory_length + shape.tgt_len) : 0.0;
  const double memory_rows =
      model.block.pre_lnorm ? 0.0 : 2.0 * static_cast<double>(shape.streams * shape.memory_length);
  return 3.0 * forward_flops(model, vocab_size, shape) -
         static_cast<double>(model.n_layer) * projection * (positions + memory_rows);
}

StepBench bench_step(BenchStream& place, const Effort& effort, const Config& config, int64_t vocab_size) {
  TrainingStep step(place, config, vocab_size, {0, config.training.batch_size});
  StepBench bench;
  bench.parameters = step.parameters();
  bench.activation_bytes = step.reserve();
  step.fill_memory();
  const SegmentShape shape = training_shape(config, config.training.batch_size);
  bench.measurement = {.name = "training step",
                       .timing = time_calls(place.stream(), effort, [&] { step.run(); }),
                       .flops = training_flops(config.model, vocab_size, shape),
                       .tokens = static_cast<double>(shape.streams * shape.tgt_len)};
  const double norm = step.gradient_norm();
  if (!std::isfinite(norm)) throw DivergedError("bench step: the gradient norm after the last step is {}", norm);
  return bench;
}

}  // namespace segue

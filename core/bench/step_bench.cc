// The parts that the trainer has, without data, reports and checkpoints.
#include "core/bench/step_bench.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "core/model/segment_engine.h"
#include "core/train/optimizer.h"
#include "core/train/stream_group.h"

namespace segue {

namespace {

OwnedTensor random_tokens(const Shape& shape, int64_t vocab_size, uint16_t site) {
  OwnedTensor tokens(DType::kInt32, shape);
  const RandomStream random{.seed = 1, .step = 0, .site = site};
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const double uniform = random_uniform(random, static_cast<uint64_t>(i));
    tokens.as<int32_t>()[i] = static_cast<int32_t>(uniform * static_cast<double>(vocab_size));
  }
  return tokens;
}

class TrainingStep {
 public:
  TrainingStep(BenchStream& place, const Config& config, int64_t vocab_size)
      : config_(config),
        stream_(place.stream()),
        model_(config.model, vocab_size),
        parameters_(model_.parameter_specs(), compute_of(config.model, precision_of(place), place.device())),
        optimizer_(config.optimizer, parameters_, stream_),
        arena_(place.device()),
        engine_(model_, parameters_, arena_, stream_, Tape::Mode::kTraining),
        groups_(make_stream_groups(model_, {0, config.training.batch_size}, config.training.batch_chunk,
                                   parameters_.compute())),
        tokens_(random_tokens({config.training.batch_size, config.training.tgt_len}, vocab_size, 1)),
        targets_(random_tokens({config.training.batch_size, config.training.tgt_len}, vocab_size, 2)) {
    parameters_.initialize(config.model.init, static_cast<uint64_t>(config.seed));
  }

  int64_t reserve() {
    return engine_.prepare({.streams = groups_.front().count,
                            .tgt_len = config_.training.tgt_len,
                            .memory_length = config_.model.mem_len});
  }

  void run() {
    parameters_.clear_gradients(stream_);
    for (StreamGroup& group : groups_) engine_.queue(inputs_of(group), group.memory);
    optimizer_.step(config_.optimizer.lr);
  }

  void fill_memory() {
    while (
        !std::all_of(groups_.begin(), groups_.end(), [](const StreamGroup& group) { return group.memory.is_full(); }))
      run();
  }

  double gradient_norm() const { return optimizer_.norm(); }
  int64_t parameters() const { return parameters_.count(); }

 private:
  static PrecisionKind precision_of(const BenchStream& place) {
    return place.activations() == DType::kBFloat16 ? PrecisionKind::kBf16 : PrecisionKind::kFp32;
  }

  SegmentInputs inputs_of(const StreamGroup& group) const {
    return {.tokens = tokens_.view().rows(group.first, group.count),
            .targets = targets_.view().rows(group.first, group.count),
            .info = {.seed = static_cast<uint64_t>(config_.seed),
                     .step = static_cast<uint64_t>(optimizer_.steps() + 1),
                     .first_stream = group.first,
                     .loss_scale = static_cast<float>(1.0 / static_cast<double>(tokens_.shape().elements()))}};
  }

  const Config& config_;
  kernels::Stream& stream_;
  Transformer model_;
  Parameters parameters_;
  Optimizer optimizer_;
  Arena arena_;
  SegmentEngine engine_;
  std::vector<StreamGroup> groups_;
  OwnedTensor tokens_;
  OwnedTensor targets_;
};

}  // namespace

double training_flops(const ModelConfig& model, int64_t vocab_size, const SegmentShape& shape) {
  const double projection = 2.0 * static_cast<double>(model.d_model * model.n_head * model.d_head);
  const auto positions = static_cast<double>(shape.memory_length + shape.tgt_len);
  const double memory_rows =
      model.block.pre_lnorm ? 0.0 : 2.0 * static_cast<double>(shape.streams * shape.memory_length);
  return 3.0 * forward_flops(model, vocab_size, shape) -
         static_cast<double>(model.n_layer) * projection * (positions + memory_rows);
}

StepBench bench_step(BenchStream& place, const Effort& effort, const Config& config, int64_t vocab_size) {
  TrainingStep step(place, config, vocab_size);
  StepBench bench;
  bench.parameters = step.parameters();
  bench.activation_bytes = step.reserve();
  step.fill_memory();
  const SegmentShape shape{
      .streams = config.training.batch_size, .tgt_len = config.training.tgt_len, .memory_length = config.model.mem_len};
  bench.measurement = {.name = "training step",
                       .timing = time_calls(place.stream(), effort, [&] { step.run(); }),
                       .flops = training_flops(config.model, vocab_size, shape),
                       .tokens = static_cast<double>(shape.streams * shape.tgt_len)};
  const double norm = step.gradient_norm();
  if (!std::isfinite(norm)) throw DivergedError("bench step: the gradient norm after the last step is {}", norm);
  return bench;
}

}  // namespace segue

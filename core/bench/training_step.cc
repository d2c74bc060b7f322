#include "core/bench/training_step.h"

#include <algorithm>

#include "core/train/scored_targets.h"

namespace segue {

TrainingStep::TrainingStep(Workbench& workbench, const Config& config, int64_t vocab_size, const Share& streams)
    : config_(config),
      queue_(workbench.queue()),
      model_(config.model, vocab_size),
      parameters_(model_.parameter_specs(), compute_of(config.model, workbench.precision(), workbench.device())),
      optimizer_(config.optimizer, parameters_, queue_),
      arena_(workbench.device()),
      engine_({model_, use_of(config.model), parameters_, arena_, queue_}, Tape::Mode::kTraining),
      groups_(make_stream_groups(config.model, use_of(config.model), streams, config.training.batch_chunk,
                                 parameters_.compute())),
      streams_(streams),
      tokens_(random_tokens({streams.count, last_lengths(config).tokens()}, vocab_size, 1)),
      targets_(random_tokens({streams.count, scored_tokens(config.training, last_lengths(config).tokens())}, vocab_size,
                             2)) {
  parameters_.initialize(config.model.init, static_cast<uint64_t>(config.seed));
}

int64_t TrainingStep::reserve() { return engine_.prepare(training_shape(config_, groups_.front().count)); }

Flops TrainingStep::flops() {
  return model_.flops(parameters_, use_of(config_.model), training_shape(config_, streams_.count));
}

void TrainingStep::observe(StepObserver* observer) {
  observer_ = observer;
  engine_.observe(observer);
  optimizer_.observe(observer);
}

void TrainingStep::run(const Tape::GradientProgress& progress, const std::function<void()>& between) {
  const auto describe_clearing = [&] {
    const auto bytes = static_cast<double>(parameters_.gradients().bytes());
    return StepPart{.name = "clear_gradients", .pass = "", .bytes = bytes};
  };
  observed(observer_, describe_clearing, [&] { parameters_.clear_gradients(queue_); });
  for (StreamGroup& group : groups_)
    engine_.queue(inputs_of(group), *group.memory, &group == &groups_.back() ? progress : nullptr);
  if (between) between();
  optimizer_.step(config_.optimizer.lr);
}

void TrainingStep::fill_memory() {
  while (
      !std::all_of(groups_.begin(), groups_.end(), [](const StreamGroup& group) { return group.memory->is_settled(); }))
    run();
}

SegmentInputs TrainingStep::inputs_of(const StreamGroup& group) const {
  return {.tokens = tokens_.view().rows(group.first - streams_.first, group.count),
          .targets = targets_.view().rows(group.first - streams_.first, group.count),
          .info = {.seed = static_cast<uint64_t>(config_.seed),
                   .step = static_cast<uint64_t>(optimizer_.steps() + 1),
                   .first_stream = group.first,
                   .loss_scale = static_cast<float>(1.0 / static_cast<double>(targets_.shape().elements()))},
          .segment_length = last_lengths(config_).length_among_several(),
          .recompute = config_.training.recompute};
}

}  // namespace segue

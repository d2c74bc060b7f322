#include "core/train/trainer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "base/stopwatch.h"
#include "base/text.h"
#include "core/config/depth_kind.h"
#include "core/config/memory_row.h"
#include "core/evaluation/loss_units.h"
#include "core/model/reach.h"
#include "core/model/stored_tokenizer.h"
#include "core/optimizer/schedule.h"
#include "core/train/divergence.h"
#include "core/train/replicas.h"
#include "core/train/stages.h"
#include "core/train/training_plan.h"

namespace segue {

namespace {

// Steps on a GPU that may be queued before their losses are looked at.
constexpr int64_t kMostUnreadSteps = 64;

// Steps of a process after which a line comes, as one does after the first, before the interval's.
constexpr int64_t kSecondLine = 10;

Optimizer optimizer_of(const Config& config, Parameters& parameters, kernels::Queue& queue, const Buckets& buckets,
                       Collectives& collectives) {
  if (buckets.parts() == 1) return {config.optimizer, parameters, queue};
  return {config.optimizer, parameters, queue, buckets, collectives};
}

}  // namespace

Trainer::Trainer(const Config& config, const Dataset& dataset, const RunDirectory& run, kernels::Queue& queue, Job& job,
                 Collectives& collectives, Logger& logger)
    : config_(config),
      dataset_(dataset),
      run_(run),
      store_(run.checkpoints([&logger](const std::string& warning) { logger.warn("{}", warning); })),
      logger_(logger),
      queue_(queue),
      job_(job),
      collectives_(collectives),
      streams_(share_of(config.training.batch_size, job.size(), job.rank())),
      model_(config.model, dataset.vocabulary()),
      parameters_(make_parameters(model_, compute_of(config.model, config.training.precision, queue.device()),
                                  config.optimizer, job.size())),
      buckets_(make_buckets(config, parameters_, job.size())),
      optimizer_(optimizer_of(config, parameters_, queue, buckets_, collectives)),
      arena_(queue.device()),
      engine_({model_, use_of(config.model), parameters_, arena_, queue}, Tape::Mode::kTraining),
      evaluator_({model_, evaluation_use(config), parameters_, arena_, queue}, job),
      groups_(make_stream_groups(config.model, use_of(config.model), streams_, config.training.batch_chunk,
                                 parameters_.compute())),
      segments_(dataset.split(config.data.train_split),
                {.streams = config.training.batch_size,
                 .first_stream = streams_.first,
                 .local_streams = streams_.count,
                 .segment_length = last_lengths(config).tokens(),
                 .read_ahead = config.data.read_ahead,
                 .boundary = document_boundary(config, dataset),
                 .farthest = longest_memory(config),
                 .masking = training_masking(model_, static_cast<uint64_t>(config.seed))}),
      lengths_(last_lengths(config)),
      scored_targets_(config.training, streams_.count),
      reports_({.tokens = streams_.count * last_lengths(config).tokens(),
                .capacity = queue.device().is_cuda() ? kMostUnreadSteps : 1,
                .counts_hits = segments_.scores_some(),
                .counts_passes = config.model.depth.kind == DepthKind::kHalting,
                .streams = row_of(config.model.memory.kind).has_own_loss(config.model.memory) ? streams_.count : 0},
               queue.device()),
      high_loss_warning_(dataset.vocabulary()),
      peak_(job, [this] { return measure_peak_rate(queue_, parameters_.compute().activations); }) {
  state_.dataset = dataset.identity(config.data.train_split);
  if (job.is_first()) further_files_ = tokenizer_files(dataset);
  parameters_.initialize(config.model.init, static_cast<uint64_t>(config.seed));
  if (job.size() > 1)
    exchange_ =
        make_gradient_exchange({parameters_.gradients(), optimizer_.gradient_shard(), buckets_}, collectives, queue);
}

void Trainer::start_from(const Checkpoint& checkpoint) {
  read_weights(checkpoint, parameters_);
  logger_.info("weights from {}", checkpoint.directory().string());
}

void Trainer::resume_from(const Checkpoint& checkpoint) {
  check_resumable(checkpoint, config_, dataset_);
  restore_training(checkpoint, parts(), config_.training.batch_size);
  state_.dataset = dataset_.identity(config_.data.train_split);  // as this version says it
  segments_.restore({.epoch = state_.epoch, .row = state_.row});
  state_.evaluation_pending = state_.evaluation_pending && config_.evaluation.interval > 0;
  // A process killed between a save and the mark left the mark behind.
  if (job_.is_first() && config_.checkpoint.keep_best && state_.evaluations > 0 && state_.best_step == state_.step)
    store_.mark_best(state_.best_step);
  logger_.info("resumed from {} at step {}", checkpoint.directory().string(), state_.step);
}

TrainingOutcome Trainer::run(const StopSignal& stop) {
  try {
    return train(stop);
  } catch (const std::exception& error) {
    collectives_.abandon();  // before whoever frees memory of a GPU, or reads a run, waits for them
    const bool is_end = dynamic_cast<const DivergedError*>(&error) != nullptr;
    if (is_end && observer_ != nullptr) observer_->ended();
    throw;
  }
}

TrainingOutcome Trainer::train(const StopSignal& stop) {
  open_logs();
  log_plan();
  flops_per_token_ = measure_flops_per_token();
  peak_.measure();  // a GPU's matrices for that are gone before the arena is there
  reserve_memory();
  saved_step_ = state_.step;
  if (state_.step > 0) stop.note_saved(state_.step);
  first_step_ = state_.step + 1;
  while (evaluate_and_save(stop) && state_.step < config_.training.max_step && goes_on(stop)) {
    enter_stage_of(state_.step + 1);
    train_step(*segments_.next());
    state_.evaluation_pending = is_evaluation_due();
    log_step();
  }
  if (interval_.steps > 0) log_interval();
  if (saved_step_ != state_.step) save(false);
  if (const std::optional<std::string> warning = high_loss_warning_.at_end()) warn(*warning);
  if (observer_ != nullptr) observer_->ended();
  const bool is_finished = state_.step >= config_.training.max_step && !state_.evaluation_pending;
  return is_finished ? TrainingOutcome::kFinished : TrainingOutcome::kStopped;
}

void Trainer::enter_stage_of(int64_t step) {
  const StageLengths now = lengths_at(config_, step);
  const double lr_factor = lr_factor_at(config_, step);
  if (now == lengths_ && lr_factor == lr_factor_) return;
  segments_.set_segment_length(now.tokens());
  for (StreamGroup& group : groups_) group.memory->set_mem_len(queue_, now.mem_len);
  lengths_ = now;
  lr_factor_ = lr_factor;
  flops_per_token_ = measure_flops_per_token();
  logger_.info("from step {} on: {}", step, describe_stage(config_, step));
}

void Trainer::open_logs() {
  const LongWork opening(job_, "opening the run");
  if (job_.is_first()) metrics_ = std::make_unique<MetricsLog>(run_.metrics(), state_.step, state_.evaluation_pending);
  check_replicas(parts(), job_);
  sign();
  job_.barrier();
}

// All ranks find the same; one of them says it.
void Trainer::warn(const std::string& warning) const {
  if (job_.is_first()) logger_.warn("{}", warning);
}

void Trainer::sign() {
  if (!made_by_ || !job_.is_first()) return;
  made_by_->from_step = state_.step;
  run_.check_lock();
  run_.add_session(*made_by_);
  further_files_.push_back({kMadeByFile, made_by_text(*made_by_)});
}

bool Trainer::evaluate_and_save(const StopSignal& stop) {
  if (!state_.evaluation_pending) {
    if (saved_step_ != state_.step && is_due(config_.checkpoint.interval)) save(false);
    return true;
  }
  // Whatever becomes of the last evaluation, what was trained is kept.
  if (state_.step == config_.training.max_step && saved_step_ != state_.step) save(false);
  settle();
  const auto start = std::chrono::steady_clock::now();
  const std::optional<bool> evaluated_best = evaluate(stop);
  if (!evaluated_best) return false;
  saved_step_.reset();  // it is part of the state
  const bool is_best = *evaluated_best && config_.checkpoint.keep_best;
  const bool is_save_due = is_due(config_.checkpoint.interval);
  if (is_best && !is_save_due) save(is_best);
  pause_costs_.evaluation.add(seconds_since(start));
  if (is_save_due) save(is_best);
  return true;
}

bool Trainer::is_evaluation_due() const {
  const int64_t interval = config_.evaluation.interval;
  return is_due(interval) || (interval > 0 && state_.step == config_.training.max_step);
}

// All ranks stop after the same step.
bool Trainer::goes_on(const StopSignal& stop) {
  if (saved_step_.value_or(0) > 0) stop.note_saved(*saved_step_);
  double asked_to_stop = stop.requested() ? 1.0 : 0.0;
  job_.at_step(state_.step + 1);
  job_.sum({&asked_to_stop, 1});
  return asked_to_stop == 0.0;
}

void Trainer::train_step(const Segment& segment) {
  const auto start = std::chrono::steady_clock::now();
  const auto begins_anew = [&](int64_t interval) {
    return interval > 0 && state_.step > 0 && state_.step % interval == 0;
  };
  if (segment.starts_text || begins_anew(config_.training.reset_interval)) {
    for (StreamGroup& group : groups_) group.memory->reset();
  }
  if (begins_anew(config_.training.redraw_interval)) {
    queue_.synchronize();
    parameters_.redraw(static_cast<uint64_t>(config_.seed), static_cast<uint64_t>(state_.step));
  }
  const int64_t scored = forward_backward(segment);
  ++state_.step;
  // A segment in which nothing is scored is read and remembered; there is nothing to learn from it.
  if (scored > 0) {
    learning_rate_ = learning_rate(config_, state_.step, state_.plateau);
    optimizer_.step(learning_rate_);
    reports_.end_step(queue_, state_.step, scored, scored_targets_.bytes(segment), optimizer_.outcome());
  } else {
    reports_.drop_step();
  }

  const double seconds = seconds_since(start);
  const int64_t tokens = config_.training.batch_size * segment.length;
  ++interval_.steps;
  interval_.tokens += tokens;
  interval_.flops += static_cast<double>(tokens) * flops_per_token_;
  interval_.seconds += seconds;
  state_.optimizer_step = optimizer_.steps();
  state_.tokens += tokens;
  state_.seconds += seconds;
  const StreamPosition position = segments_.position();
  state_.epoch = position.epoch;
  state_.row = position.row;
  if (reports_.is_full()) settle();
}

int64_t Trainer::forward_backward(const Segment& segment) {
  const ConstTensorView targets = scored_targets_.of(segment.targets);
  auto scored = static_cast<double>(config_.training.batch_size * targets.shape[1]);  // of all ranks
  if (segments_.scores_some()) {
    scored = static_cast<double>(count_scored(targets));
    job_.sum({&scored, 1});
  }
  parameters_.clear_gradients(queue_);
  for (StreamGroup& group : groups_) {
    const int64_t first = group.first - streams_.first;
    const auto of_group = [&](const ConstTensorView& limits) {
      return limits.empty() ? limits : limits.rows(first, group.count);
    };
    const ConstTensorView reach = of_group(segment.reach);
    const ConstTensorView ahead = of_group(segment.ahead);
    const SegmentInputs inputs{.tokens = segment.tokens.rows(first, group.count),
                               .targets = targets.rows(first, group.count),
                               .info = {.seed = static_cast<uint64_t>(config_.seed),
                                        .step = static_cast<uint64_t>(state_.step + 1),
                                        .first_stream = group.first,
                                        .loss_scale = static_cast<float>(1.0 / std::max(scored, 1.0)),
                                        .stream_share = 1.0F / static_cast<float>(config_.training.batch_size)},
                               .reach = reach,
                               .ahead = ahead,
                               .segment_length = lengths_.length_among_several(),
                               .margins = segments_.scores_some(),
                               .window_share = lengths_.window_share,
                               .recompute = config_.training.recompute};
    const bool is_last = &group == &groups_.back();
    const TokenLosses losses =
        engine_.queue(inputs, *group.memory, is_last && exchange_ ? exchange_->progress() : nullptr);
    reports_.add_losses(queue_, losses.nll, losses.margin);
    if (!losses.reconstruction.empty()) reports_.add_reconstruction(queue_, losses.reconstruction);
    for (const ConstTensorView& passes : losses.passes)
      reports_.add_passes(queue_, passes.reshaped({passes.elements()}));
    tells_hits_ = !losses.margin.empty();
  }
  if (exchange_) exchange_->finish();
  return std::llround(scored);
}

void Trainer::settle() {
  const auto start = std::chrono::steady_clock::now();
  for (const StepReport& report : reports_.read(queue_)) {
    std::array<double, 6> sums{report.nll,
                               static_cast<double>(report.hits),
                               report.reconstruction,
                               static_cast<double>(report.bytes),
                               report.passes,
                               static_cast<double>(report.halting_tokens)};
    job_.sum(sums);
    const double loss = sums[0] / static_cast<double>(report.scored);
    for (const auto& [what, value] : {std::pair("loss", loss), std::pair("gradient norm", report.gradient_norm)}) {
      if (std::isfinite(value)) continue;
      const std::string found =
          fmt::format("split \"{}\": the {} is {}", config_.data.train_split, what, non_finite(value));
      refuse_divergence(report.step, found, store_, config_, true);
    }
    if (const std::optional<std::string> warning = high_loss_warning_.take(report.step, loss)) warn(*warning);
    interval_.loss += loss;
    ++interval_.losses;
    interval_.nll += sums[0];
    interval_.bytes += std::llround(sums[3]);
    if (tells_hits_) interval_.hits = interval_.hits.value_or(0) + std::llround(sums[1]);
    interval_.scored += report.scored;
    interval_.reconstruction += sums[2] / static_cast<double>(config_.training.batch_size);
    interval_.passes += sums[4];
    interval_.halting_tokens += sums[5];
    gradient_norm_ = report.gradient_norm;
  }
  const double seconds = seconds_since(start);
  interval_.seconds += seconds;
  state_.seconds += seconds;
}

// A person need not wait for an interval to see that it works, and how long it will take.
void Trainer::log_step() {
  if (is_due(config_.training.log_interval)) return log_interval();
  const int64_t steps = state_.step - first_step_ + 1;
  if (steps != 1 && steps != kSecondLine) return;
  settle();
  if (interval_.losses > 0) show(interval_metrics());
}

void Trainer::show(const StepMetrics& metrics) {
  const double seconds = interval_.seconds / static_cast<double>(interval_.tokens) * tokens_after(config_, state_.step);
  const PausesLeft left = pauses_left(config_, state_.step, state_.evaluation_pending, saved_step_ == state_.step);
  if (std::exchange(shown_step_, state_.step) == state_.step) return;
  logger_.info("{}", console_line(metrics, config_.training.max_step, describe_time_left(seconds, left, pause_costs_)));
}

StepMetrics Trainer::interval_metrics() const {
  const double tokens_per_second = static_cast<double>(interval_.tokens) / interval_.seconds;
  std::optional<double> accuracy;
  if (segments_.scores_some() && interval_.hits)
    accuracy = static_cast<double>(*interval_.hits) / static_cast<double>(interval_.scored);
  std::optional<double> reconstruction;
  if (row_of(config_.model.memory.kind).has_own_loss(config_.model.memory))
    reconstruction = interval_.reconstruction / static_cast<double>(interval_.losses);
  std::optional<double> passes;
  if (interval_.halting_tokens > 0.0) passes = interval_.passes / interval_.halting_tokens;
  // Steps count alike, whatever they scored; per byte, tokens do.
  MeanLoss loss{.per_token = interval_.loss / static_cast<double>(interval_.losses)};
  if (interval_.bytes > 0) loss.per_byte = interval_.nll / static_cast<double>(interval_.bytes);
  return {.step = state_.step,
          .loss = loss,
          .units = loss_units(dataset_, config_.model.objective),
          .accuracy = accuracy,
          .gradient_norm = gradient_norm_,
          .learning_rate = learning_rate_,
          .tokens = state_.tokens,
          .tokens_per_second = tokens_per_second,
          .flops_per_second = interval_.flops / interval_.seconds,
          .mfu = {},
          .seconds = state_.seconds,
          .spans = {},
          .reconstruction = reconstruction,
          .passes = passes,
          .exchange = {}};
}

void Trainer::log_interval() {
  settle();
  if (interval_.losses == 0) return;  // nothing was scored since the last line
  StepMetrics metrics = interval_metrics();
  peak_.correct(metrics.flops_per_second, !queue_.device().is_cuda());  // a GPU's memory is taken by now
  metrics.mfu = peak_.share(metrics.flops_per_second);
  if (exchange_) metrics.exchange = exchange_->take_times();
  metrics.spans = learned_spans(config_.model, parameters_);
  if (metrics.spans) flops_per_token_ = measure_flops_per_token();  // which follow the spans
  show(metrics);
  interval_ = {};
  publish([&] { metrics_->write(metrics); });
}

std::optional<EvaluationResult> Trainer::result_unless(const StopSignal& stop) try {
  return evaluator_.run_unless([&stop] { return stop.requested(); }, dataset_.split(config_.evaluation.split),
                               evaluation_plan(config_, dataset_));
} catch (const DivergedError& error) {
  refuse_divergence(state_.step, error.what(), store_, config_, false);
}

std::optional<bool> Trainer::evaluate(const StopSignal& stop) {
  check_replicas(parts(), job_);
  const std::optional<EvaluationResult> made = result_unless(stop);
  if (!made) return std::nullopt;
  const EvaluationResult& result = *made;
  const MeanLoss loss = result.loss();
  const bool is_best = state_.evaluations == 0 || loss.per_token < state_.best_loss;
  state_.evaluation_pending = false;
  ++state_.evaluations;
  // An evaluation made only because the run ends here does not reach the schedule: a longer run has none there.
  if (config_.schedule.kind == ScheduleKind::kPlateau && is_due(config_.evaluation.interval))
    follow_loss(config_.schedule, config_.optimizer.lr, state_.step, loss.per_token, state_.plateau);
  if (is_best) {
    state_.best_loss = loss.per_token;
    state_.best_step = state_.step;
  }
  const LossUnits units = loss_units(dataset_, config_.model.objective);
  publish([&] {
    OrderedJson values{{"dataset", dataset_.identity(config_.evaluation.split)}};
    if (const std::optional<SourcePlace> text = dataset_.text_place(config_.evaluation.split))
      values["text"] = write_fields(*text);
    add_loss(values, loss, units);
    if (const std::optional<double> accuracy = result.accuracy()) values["accuracy"] = *accuracy;
    values["evaluated_tokens"] = result.tokens;
    add_unknown(values, result.unknown_tokens());
    metrics_->write_evaluation(state_.step, state_.tokens, config_.evaluation.split, values);
  });
  logger_.info("step {}  {}: loss {:.4f}  {}{}{}{}{}", state_.step, config_.evaluation.split, loss.per_token,
               describe_bits(loss, units), describe_perplexity(loss.per_token, units),
               describe_accuracy(result.accuracy()), describe_unknown(result.unknown_tokens()),
               is_best ? "  (best)" : "");
  return is_best;
}

void Trainer::save(bool is_best) {
  settle();
  const auto start = std::chrono::steady_clock::now();
  const LongWork saving(job_, fmt::format("saving step {}", state_.step));
  check_replicas(parts(), job_);
  save_training(store_, parts(), config_,
                {.model = config_.model,
                 .vocab_size = dataset_.vocabulary(),
                 .tgt_len = config_.training.tgt_len,
                 .tokenizer = std::string(name_of_choice(dataset_.manifest().tokenizer.kind))},
                further_files_, job_);
  saved_step_ = state_.step;
  if (job_.is_first()) {
    if (is_best) store_.mark_best(state_.step);
    store_.prune(config_.checkpoint.keep_last);
  }
  job_.barrier();  // to delete takes time too
  pause_costs_.save.add(seconds_since(start));
}

// The others wait for the rank that writes the line of metrics, and for its observer.
void Trainer::publish(const std::function<void()>& write_metrics) {
  const LongWork writing(job_, "writing metrics");
  if (metrics_) {
    run_.check_lock();
    write_metrics();
  }
  if (observer_ != nullptr) observer_->metrics_written();
  job_.barrier();
}

double Trainer::measure_flops_per_token() {
  const int64_t streams = config_.training.batch_size;
  const Flops flops = model_.flops(parameters_, use_of(config_.model), training_shape(config_, lengths_, streams));
  return (flops.forward + flops.backward) / static_cast<double>(streams * lengths_.tokens());
}

// All that a step needs once the memory is full, before the first one.
void Trainer::reserve_memory() {
  SegmentShape shape = training_shape(config_, groups_.front().count);
  shape.margins = segments_.scores_some();
  const int64_t activations = engine_.prepare(shape);
  if (config_.evaluation.interval > 0)
    evaluator_.prepare(evaluation_plan(config_, dataset_), dataset_.split_info(config_.evaluation.split));
  log_memory(activations);
}

}  // namespace segue

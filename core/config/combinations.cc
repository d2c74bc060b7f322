// Checks that span several sections of a config.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "core/config/config.h"
#include "core/config/device_choice.h"
#include "core/config/head_kind.h"
#include "core/config/kind_checks.h"
#include "core/config/kind_requirements.h"
#include "core/config/layers.h"
#include "core/config/position_kind.h"
#include "core/config/position_terms.h"
#include "core/config/score_kind.h"
#include "core/config/visibility_checks.h"
#include "kernels/token_clusters.h"

namespace segue {
namespace {

void check_names(const Config& config, std::string_view source) {
  const auto check = [source](std::string_view key, const std::string& name) {
    if (name.empty()) throw ConfigError("{}: {}: expected a name, found \"\"", source, key);
  };
  check("data.path", config.data.path);
  check("data.train_split", config.data.train_split);
  check("evaluation.split", config.evaluation.split);
}

void check_lengths(const Config& config, std::string_view source) {
  const int64_t longest = config.training.tgt_len + config.model.mem_len;
  if (evaluation_mem_len(config) < 0)
    throw ConfigError(
        "{}: evaluation.tgt_len: expected at most training.tgt_len + model.mem_len = {} with "
        "evaluation.mem_len = -1, found {}",
        source, longest, config.evaluation.tgt_len);
  if (config.training.batch_chunk > config.training.batch_size)
    throw ConfigError("{}: training.batch_chunk: expected at most training.batch_size = {}, found {}", source,
                      config.training.batch_size, config.training.batch_chunk);
}

// In the order in which they are told, each of all lengths before the next.
constexpr std::array kLengthChecks{check_rows_of_states, check_same_length, check_window_share,
                                   check_window,         check_periods,     check_memory_lengths};

void check_used_lengths(const ModelConfig& model, const std::vector<UsedLengths>& used, std::string_view source) {
  for (const auto check : kLengthChecks)
    for (const UsedLengths& lengths : used) check(model, lengths, source);
}

void check_stages(const Config& config, std::string_view source) {
  int64_t after = 0;
  for (size_t i = 0; i < config.training.stages.size(); ++i) {
    const StageConfig& stage = config.training.stages[i];
    const auto expect = [&](bool holds, const char* key, const std::string& expected, int64_t found) {
      if (!holds)
        throw ConfigError("{}: training.stages[{}].{}: expected {}, found {}", source, i, key, expected, found);
    };
    expect(stage.until_step > after, "until_step", fmt::format("a step after {}, where the previous stage ends", after),
           stage.until_step);
    if (stage.until_step >= config.training.max_step)
      throw ConfigError(
          "{}: training.stages[{}].until_step: expected less than training.max_step = {}, found {}; shorten the stages "
          "(training.stages[{}].until_step=STEP) or train without (training.stages=[])",
          source, i, config.training.max_step, stage.until_step, i);
    expect(stage.tgt_len <= config.training.tgt_len, "tgt_len",
           fmt::format("at most training.tgt_len = {}", config.training.tgt_len), stage.tgt_len);
    expect(stage.mem_len <= config.model.mem_len, "mem_len",
           fmt::format("at most model.mem_len = {}", config.model.mem_len), stage.mem_len);
    expect(stage.segments_per_step <= config.training.segments_per_step, "segments_per_step",
           fmt::format("at most training.segments_per_step = {}", config.training.segments_per_step),
           stage.segments_per_step);
    ModelUse use = use_of(config.model);
    use.mem_len = stage.mem_len;
    const std::string key = fmt::format("training.stages[{}].", i);
    check_used_lengths(config.model,
                       {{.use = use,
                         .mem_len_key = key + "mem_len",
                         .tgt_len = stage.tgt_len,
                         .tgt_len_key = key + "tgt_len",
                         .window_share = stage.window_share,
                         .window_share_key = key + "window_share"}},
                       source);
    after = stage.until_step;
  }
}

void check_device(const TrainingConfig& training, std::string_view source) {
  if (!is_device_name(training.device))
    throw ConfigError(R"({}: training.device: expected "auto", "cpu", "cuda" or "cuda:N", found "{}")", source,
                      training.device);
  if (training.device == "cpu" && training.communicator == CollectivesKind::kNccl)
    throw_conflict({.key = "training.communicator",
                    .expected = R"("auto" or "mpi")",
                    .with = R"(training.device = "cpu")",
                    .found = R"("nccl")"},
                   source);
}

void check_plateau(const Config& config, std::string_view source) {
  if (config.schedule.kind == ScheduleKind::kPlateau && config.evaluation.interval == 0)
    throw_conflict({.key = "evaluation.interval",
                    .expected = "above 0",
                    .reason = {.because = "the schedule follows the losses of evaluations"},
                    .with = R"(schedule.kind = "plateau")",
                    .found = "0"},
                   source);
}

void check_optimization(const Config& config, std::string_view source) {
  const OptimizerConfig& optimizer = config.optimizer;
  const ScheduleConfig& schedule = config.schedule;
  check_kinds<ConfigError>(optimizer, source, "optimizer");
  check_kinds<ConfigError>(schedule, source, "schedule");
  check_plateau(config, source);
  if (schedule.eta_min > optimizer.lr)
    throw ConfigError("{}: schedule.eta_min: expected at most optimizer.lr = {}, found {}", source, optimizer.lr,
                      schedule.eta_min);
}

// Gradients pass from segment to segment through memory tokens and states.
void check_segments(const Config& config, std::string_view source) {
  const int64_t segments = config.training.segments_per_step;
  if (segments == 1) return;
  const auto hands_on = [](const KindInUse& kind) { return kind.needs.hands_on_gradients; };
  if (std::ranges::none_of(kinds_in_use(config.model), hands_on))
    throw ConfigError(
        R"({}: training.segments_per_step: expected 1 with model.memory.kind = "{}" and no layer that keeps a state, )"
        R"(found {}; no gradient would pass from segment to segment)",
        source, name_of_choice(config.model.memory.kind), segments);
  if (config.training.loss_part != LossPart::kFull)
    throw ConfigError(R"({}: training.loss_part: expected "full" with training.segments_per_step = {}, found "{}")",
                      source, segments, name_of_choice(config.training.loss_part));
}

// Where nothing is remembered, nothing begins anew.
void check_resets(const Config& config, std::string_view source) {
  const ModelConfig& model = config.model;
  if (config.training.reset_interval == 0 || model.mem_len > 0) return;
  const auto remembers = [](const KindInUse& kind) { return kind.needs.remembers_without_rows; };
  if (std::ranges::any_of(kinds_in_use(model), remembers)) return;
  throw ConfigError(
      "{}: training.reset_interval: expected 0 with model.mem_len = 0 and no layer that keeps a state, found {}; there "
      "is nothing to reset",
      source, config.training.reset_interval);
}

// Random features are drawn anew where no state is left that was written under the old ones.
void check_redraws(const Config& config, std::string_view source) {
  const TrainingConfig& training = config.training;
  if (training.redraw_interval == 0) return;
  if (!has_random_features(config.model))
    throw ConfigError(
        R"({}: training.redraw_interval: expected 0 without random features, found {}; they need a layer with )"
        R"(score.kind = "state" and score.feature = "performer" or "random_fourier")",
        source, training.redraw_interval);
  if (training.reset_interval == 0)
    throw ConfigError(
        "{}: training.reset_interval: expected at least 1 with training.redraw_interval = {}, found 0; states written "
        "with the old features must be reset when features are redrawn",
        source, training.redraw_interval);
  if (training.redraw_interval % training.reset_interval != 0)
    throw ConfigError(
        "{}: training.redraw_interval: expected a multiple of training.reset_interval = {}, found {}; states written "
        "with the old features must be reset when features are redrawn",
        source, training.reset_interval, training.redraw_interval);
}

// A memory that begins full of zeros is seen before there is a document, which sees nothing before it.
void check_documents(const Config& config, std::string_view source) {
  if (!unescaped(config.data.document_boundary))
    throw ConfigError(R"({}: data.document_boundary: expected two hexadecimal digits after each "\x", found "{}")",
                      source, config.data.document_boundary);
  if (config.data.document_boundary.empty()) return;
  for (const auto& [name, needs] : kinds_in_use(config.model)) {
    if (needs.no_documents)
      throw_conflict({.key = "data.document_boundary",
                      .expected = R"("")",
                      .reason = *needs.no_documents,
                      .with = name,
                      .found = in_quotes(config.data.document_boundary)},
                     source);
  }
  if (config.model.memory.initial == InitialMemory::kEmpty) return;
  throw ConfigError(R"({}: model.memory.initial: expected "empty" with data.document_boundary, found "{}")", source,
                    name_of_choice(config.model.memory.initial));
}

void check_recompute(const Config& config, std::string_view source) {
  if (config.training.recompute == Recompute::kNone) return;
  for (const auto& [name, needs] : kinds_in_use(config.model)) {
    if (needs.no_recompute)
      throw_conflict({.key = "training.recompute",
                      .expected = R"("none")",
                      .reason = *needs.no_recompute,
                      .with = name,
                      .found = in_quotes(name_of_choice(config.training.recompute))},
                     source);
  }
}

// Keys that a kind does not read are as in a config without them; a clamp_len of 0 says as much as the default.
void check_kinds_of(ModelConfig model, std::string_view source) {
  const auto with_default_limit = [](PositionConfig position) {
    if (position.clamp_len <= 0) position.clamp_len = PositionConfig{}.clamp_len;
    return position;
  };
  model.position = with_default_limit(model.position);
  check_kinds<ConfigError>(model, source, "model");
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerOverride& layers = model.layers[i];
    const std::string key = fmt::format("model.layers[{}].", i);
    if (layers.position) check_kinds<ConfigError>(with_default_limit(*layers.position), source, key + "position");
    if (layers.visibility) check_kinds<ConfigError>(*layers.visibility, source, key + "visibility");
    if (layers.score) check_kinds<ConfigError>(*layers.score, source, key + "score");
  }
}

// A share written in decimals need not be exact.
void check_rotary_share(const ModelConfig& model, std::string_view key, std::string_view source) {
  constexpr double kRounding = 1e-6;
  const double share = model.position.rotary_share;
  const double columns = share * static_cast<double>(model.d_head);
  const int64_t width = rotary_width(model);
  if (width > 0 && width % 2 == 0 && std::abs(columns - static_cast<double>(width)) < kRounding) return;
  throw ConfigError(
      "{}: {}.rotary_share: expected a share of the model.d_head = {} columns that is an even number of them, found "
      "{}, which is {} columns",
      source, key, model.d_head, share, columns);
}

// The score of a layer takes what its position offers, and what the model's adds to embeddings.
void check_terms(const ModelConfig& model, std::string_view source) {
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const PositionKind position = position_of_layer(model, layer).kind;
    const ScoreKind score = score_of_layer(model, layer).kind;
    const std::string_view term = refused_term(offered_by(position), accepted_by(score));
    if (!term.empty())
      throw ConfigError(R"({}: {}.kind: expected {} with {}.kind = "{}", found "{}", which needs {})", source,
                        position_key(model, layer), positions_within(accepted_by(score)), score_key(model, layer),
                        name_of_choice(score), name_of_choice(position), term);
  }
}

// The model's, or with it in place of that a layer's, which `position_key` leads to.
void check_position(const ModelConfig& model, const std::string& position_key, std::string_view source) {
  using enum PositionKind;
  const PositionConfig& position = model.position;
  const bool has_table = position.kind == kLearned || position.kind == kShaw;
  const bool has_sinusoids = position.kind == kRelative || position.kind == kSinusoidal;
  const auto expect = [&](bool is_right, std::string_view key, std::string_view expected, int64_t found) {
    if (!is_right)
      throw ConfigError(R"({}: {}: expected {} with {}.kind = "{}", found {})", source, key, expected, position_key,
                        name_of_choice(position.kind), found);
  };
  expect(!has_sinusoids || model.d_model % 2 == 0, "model.d_model",
         "an even number, half of it sines and half cosines,", model.d_model);
  expect(!has_table || position.max_positions > 0, position_key + ".max_positions", "at least 1",
         position.max_positions);
  if (position.kind == kRope) check_rotary_share(model, position_key, source);
  const int64_t exact = position.t5_buckets / 2;
  expect(position.kind != kT5 || position.t5_max_distance > exact, position_key + ".t5_max_distance",
         fmt::format("above half of {}.t5_buckets = {}", position_key, position.t5_buckets), position.t5_max_distance);
}

void check_positions(const ModelConfig& model, std::string_view source) {
  check_position(model, "model.position", source);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (!model.layers[i].position) continue;
    ModelConfig of_layers = model;
    of_layers.position = *model.layers[i].position;
    check_position(of_layers, fmt::format("model.layers[{}].position", i), source);
  }
  check_terms(model, source);
}

void check_clusters(const ModelConfig& model, std::string_view source) {
  const HeadConfig& head = model.head;
  if (std::ssize(head.cutoffs) > kernels::kMaxCutoffs)
    throw ConfigError("{}: model.head.cutoffs: expected at most {} numbers, found {}", source, kernels::kMaxCutoffs,
                      head.cutoffs.size());
  for (size_t i = 1; i < head.cutoffs.size(); ++i) {
    if (head.cutoffs[i] <= head.cutoffs[i - 1])
      throw ConfigError("{}: model.head.cutoffs: expected increasing numbers, found {} after {}", source,
                        head.cutoffs[i], head.cutoffs[i - 1]);
  }
  int64_t width = effective_d_embed(model);
  for (size_t i = 0; i < head.cutoffs.size(); ++i) width /= head.div_val;
  if (width < 1)
    throw ConfigError(
        "{}: model.head.div_val: expected less with an embedding of width {}, found {}; it leaves the last of {} "
        "clusters no width",
        source, effective_d_embed(model), head.div_val, head.cutoffs.size() + 1);
}

void check_head(const ModelConfig& model, std::string_view source) {
  const HeadConfig& head = model.head;
  const bool adaptive = head.kind == HeadKind::kAdaptive;
  if (adaptive) check_clusters(model, source);
  const size_t clusters = head.cutoffs.size() + 1;
  if (!head.tie_projs.empty() && head.tie_projs.size() != clusters)
    throw ConfigError(
        "{}: model.head.tie_projs: expected an empty list or one of length {} with model.head.kind = \"{}\"{}, found a "
        "list of length {}",
        source, clusters, name_of_choice(head.kind),
        adaptive ? fmt::format(" and {} cutoffs", head.cutoffs.size()) : "", head.tie_projs.size());
}

void check_position_table(const PositionConfig& position, const ModelUse& use, int64_t tgt_len,
                          std::string_view position_key, std::string_view source) {
  const int64_t rows = position.max_positions;
  const int64_t needed = position_rows(position, use, tgt_len);
  if (needed <= rows) return;
  if (position.kind == PositionKind::kLearned)
    throw ConfigError("{}: {}.max_positions: expected at least the segment's tgt_len = {}, found {}", source,
                      position_key, needed, rows);
  throw ConfigError(
      "{}: {}.max_positions: expected at least {} with tgt_len = {} and mem_len = {}, or a {}.clamp_len from 1 to {}, "
      "found {} with clamp_len = {}",
      source, position_key, needed, tgt_len, use.mem_len, position_key, rows - 1, rows, use.clamp_len);
}

}  // namespace

void check_model(const ModelConfig& model, std::string_view source) {
  check_kinds_of(model, source);
  check_layers(model, source);
  check_positions(model, source);
  check_all_patterns(model, source);
  check_spans(model, source);
  check_kind_requirements(model, source);
  check_head(model, source);
  check_same_length(model, {.use = use_of(model), .mem_len_key = "model.mem_len"}, source);
}

void check_use(const ModelConfig& model, const ModelUse& use, int64_t tgt_len, std::string_view source,
               std::string_view mem_len_key) {
  const UsedLengths lengths{
      .use = use, .mem_len_key = std::string(mem_len_key), .tgt_len = tgt_len, .tgt_len_key = "tgt_len"};
  check_rows_of_states(model, lengths, source);
  check_same_length(model, lengths, source);
  ModelConfig used = model;
  used.position.clamp_len = use.clamp_len;
  used.position.rotary_base = use.rotary_base;
  used.position.rotary_scaling = use.rotary_scaling;
  used.visibility.same_length = use.same_length;
  used.memory.initial = use.initial_memory;
  check_memory_requirements(used, source);
  check_kinds_of(std::move(used), source);
  check_position_tables(model, use, tgt_len, source);
  check_periods(model, lengths, source);
  check_memory_lengths(model, lengths, source);
}

void check_position_tables(const ModelConfig& model, const ModelUse& use, int64_t tgt_len, std::string_view source) {
  if (offered_by(model.position.kind).vectors)
    check_position_table(model.position, use, tgt_len, "model.position", source);
  for (int64_t layer = 0; layer < model.n_layer; ++layer)
    check_position_table(position_of_layer(model, layer), use_of_layer(model, use, layer), tgt_len,
                         position_key(model, layer), source);
}

void check_cutoffs(const ModelConfig& model, int64_t vocab_size, std::string_view source) {
  const std::vector<int64_t>& cutoffs = model.head.cutoffs;
  if (cutoffs.empty() || cutoffs.back() < vocab_size) return;
  throw ConfigError("{}: model.head.cutoffs: expected numbers below the vocabulary's size {}, found {}", source,
                    vocab_size, cutoffs.back());
}

void check_combinations(const Config& config, std::string_view source) {
  check_names(config, source);
  check_device(config.training, source);
  check_model(config.model, source);
  if (config.data.vocab_size > 0) check_cutoffs(config.model, config.data.vocab_size, source);
  check_lengths(config, source);
  check_stages(config, source);
  check_segments(config, source);
  check_resets(config, source);
  check_redraws(config, source);
  check_position_tables(config.model, use_of(config.model), config.training.tgt_len, source);
  const ModelUse evaluation = evaluation_use(config);
  check_position_tables(config.model, evaluation, evaluation_tgt_len(config), source);
  check_used_lengths(config.model,
                     {{.use = use_of(config.model),
                       .mem_len_key = "model.mem_len",
                       .tgt_len = config.training.tgt_len,
                       .tgt_len_key = "training.tgt_len"},
                      {.use = evaluation,
                       .mem_len_key = "evaluation.mem_len",
                       .tgt_len = evaluation_tgt_len(config),
                       .tgt_len_key = "evaluation.tgt_len"}},
                     source);
  check_optimization(config, source);
  check_documents(config, source);
  check_recompute(config, source);
}

}  // namespace segue

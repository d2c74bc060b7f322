// Values that are right alone and cannot go together.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/error.h"
#include "base/json_fields.h"
#include "core/config/config.h"
#include "core/config/device_choice.h"
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

// With `same_length` and no extra key, a query sees as many keys as the memory is long: none without a memory. `key`
// says where the memory's length comes from.
void check_same_length(const ModelUse& use, std::string_view key, std::string_view source) {
  if (!use.same_length || use.same_length_extra_key || use.mem_len > 0) return;
  throw ConfigError(
      "{}: {}: expected at least 1 with model.visibility.same_length = true and same_length_extra_key = false, or no "
      "query sees a key; found 0",
      source, key);
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

void check_device(const TrainingConfig& training, std::string_view source) {
  if (!is_device_name(training.device))
    throw ConfigError(R"({}: training.device: expected "auto", "cpu", "cuda" or "cuda:N", found "{}")", source,
                      training.device);
  if (training.device == "cpu" && training.communicator == CollectivesKind::kNccl)
    throw ConfigError(
        R"({}: training.communicator: expected "auto" or "mpi" with training.device = "cpu", found "nccl")", source);
}

// A number that some kinds of optimizers do not read stays what it is without being written.
void check_optimizer(const OptimizerConfig& optimizer, std::string_view source) {
  using enum OptimizerKind;
  const auto unread = [&](std::string_view key, double found, double expected, std::string_view readers,
                          std::initializer_list<OptimizerKind> kinds) {
    if (found == expected || std::find(kinds.begin(), kinds.end(), optimizer.kind) != kinds.end()) return;
    throw ConfigError(R"({}: optimizer.{}: expected {} with optimizer.kind = "{}" ({} read it), found {})", source, key,
                      expected, name_of_choice(optimizer.kind), readers, found);
  };
  const OptimizerConfig unset;
  constexpr std::string_view kMomentReaders = R"("adam", "adamw" and "lamb")";
  unread("beta1", optimizer.beta1, unset.beta1, kMomentReaders, {kAdam, kAdamw, kLamb});
  unread("beta2", optimizer.beta2, unset.beta2, kMomentReaders, {kAdam, kAdamw, kLamb});
  unread("epsilon", optimizer.epsilon, unset.epsilon, R"(all but "sgd")", {kAdagrad, kAdam, kAdamw, kLamb});
  unread("weight_decay", optimizer.weight_decay, unset.weight_decay, R"("adamw" and "lamb")", {kAdamw, kLamb});
  unread("momentum", optimizer.momentum, unset.momentum, R"(only "sgd" would)", {kSgd});
}

void check_plateau(const Config& config, std::string_view source) {
  const ScheduleConfig& schedule = config.schedule;
  if (schedule.kind == ScheduleKind::kPlateau) {
    if (config.evaluation.interval == 0)
      throw ConfigError(
          R"({}: evaluation.interval: expected above 0 with schedule.kind = "plateau", which follows the losses of )"
          "evaluations; found 0",
          source);
    return;
  }
  const auto unread = [&](std::string_view key, double found, double expected) {
    if (found != expected)
      throw ConfigError(R"({}: schedule.{}: expected {} with schedule.kind = "{}" (only "plateau" reads it), found {})",
                        source, key, expected, name_of_choice(schedule.kind), found);
  };
  const ScheduleConfig unset;
  unread("decay_rate", schedule.decay_rate, unset.decay_rate);
  unread("patience", static_cast<double>(schedule.patience), static_cast<double>(unset.patience));
}

void check_optimization(const Config& config, std::string_view source) {
  const OptimizerConfig& optimizer = config.optimizer;
  const ScheduleConfig& schedule = config.schedule;
  check_optimizer(optimizer, source);
  check_plateau(config, source);
  if (schedule.eta_min > optimizer.lr)
    throw ConfigError("{}: schedule.eta_min: expected at most optimizer.lr = {}, found {}", source, optimizer.lr,
                      schedule.eta_min);
}

void check_clamp_len(PositionKind kind, int64_t clamp_len, std::string_view source) {
  const bool meets_distances = kind == PositionKind::kRelative || kind == PositionKind::kShaw;
  if (!meets_distances && clamp_len > 0)
    throw ConfigError(R"({}: model.position.clamp_len: expected 0 or less with model.position.kind = "{}", found {})",
                      source, name_of_choice(kind), clamp_len);
}

// Keys that a kind does not read stay what they are without being written.
void check_position(const ModelConfig& model, std::string_view source) {
  using enum PositionKind;
  const PositionConfig& position = model.position;
  const std::string_view kind = name_of_choice(position.kind);
  const bool has_table = position.kind == kLearned || position.kind == kShaw;
  const bool has_sinusoids = position.kind == kRelative || position.kind == kSinusoidal;
  const auto expect = [&](bool is_right, std::string_view key, std::string_view expected, const auto& found) {
    if (!is_right)
      throw ConfigError(R"({}: {}: expected {} with model.position.kind = "{}", found {})", source, key, expected, kind,
                        found);
  };
  expect(!has_sinusoids || model.d_model % 2 == 0, "model.d_model", "an even number (half sines, half cosines)",
         model.d_model);
  expect(position.kind == kRelative || !position.untie_r, "model.position.untie_r", "false", position.untie_r);
  expect(has_table || position.max_positions == 0, "model.position.max_positions", "0", position.max_positions);
  expect(!has_table || position.max_positions > 0, "model.position.max_positions", "at least 1",
         position.max_positions);
}

void check_block(const BlockConfig& block, std::string_view source) {
  if (block.final_norm && !block.pre_lnorm)
    throw ConfigError(
        "{}: model.block.final_norm: expected false with model.block.pre_lnorm = false, where every layer ends in a "
        "layer norm; found true",
        source);
}

void check_plain_head(const HeadConfig& head, std::string_view source) {
  const auto refuse = [source](std::string_view key, std::string_view expected) {
    throw ConfigError("{}: model.head.{}: expected {} with model.head.kind = \"softmax\"", source, key, expected);
  };
  if (!head.cutoffs.empty()) refuse("cutoffs", "an empty list");
  if (head.div_val != 1) refuse("div_val", "1");
  if (!head.proj_same_dim) refuse("proj_same_dim", "true");
  if (head.cluster_order != ClusterOrder::kReversed) refuse("cluster_order", "\"reversed\"");
}

void check_clusters(const ModelConfig& model, std::string_view source) {
  const HeadConfig& head = model.head;
  if (std::ssize(head.cutoffs) > kernels::kMaxCutoffs)
    throw ConfigError("{}: model.head.cutoffs: expected a list of at most {}, found one of {}", source,
                      kernels::kMaxCutoffs, head.cutoffs.size());
  for (size_t i = 1; i < head.cutoffs.size(); ++i) {
    if (head.cutoffs[i] <= head.cutoffs[i - 1])
      throw ConfigError("{}: model.head.cutoffs: expected increasing numbers, found {} after {}", source,
                        head.cutoffs[i], head.cutoffs[i - 1]);
  }
  int64_t width = effective_d_embed(model);
  for (size_t i = 0; i < head.cutoffs.size(); ++i) width /= head.div_val;
  if (width < 1)
    throw ConfigError(
        "{}: model.head.div_val: expected at most what leaves the last of {} clusters a width of 1, found {} with an "
        "embedding of width {}",
        source, head.cutoffs.size() + 1, head.div_val, effective_d_embed(model));
}

void check_head(const ModelConfig& model, std::string_view source) {
  const HeadConfig& head = model.head;
  const bool adaptive = head.kind == HeadKind::kAdaptive;
  adaptive ? check_clusters(model, source) : check_plain_head(head, source);
  const size_t clusters = head.cutoffs.size() + 1;
  if (!head.tie_projs.empty() && head.tie_projs.size() != clusters)
    throw ConfigError(
        "{}: model.head.tie_projs: expected an empty list or one of {} with model.head.kind = \"{}\"{}, found a list "
        "of "
        "{}",
        source, clusters, name_of_choice(head.kind),
        adaptive ? fmt::format(" and {} cutoffs", head.cutoffs.size()) : "", head.tie_projs.size());
}

}  // namespace

void check_model(const ModelConfig& model, std::string_view source) {
  check_position(model, source);
  check_clamp_len(model.position.kind, model.position.clamp_len, source);
  check_block(model.block, source);
  check_head(model, source);
  check_same_length(use_of(model), "model.mem_len", source);
}

void check_use(const ModelConfig& model, const ModelUse& use, int64_t tgt_len, std::string_view source) {
  check_same_length(use, "model.mem_len", source);
  check_clamp_len(model.position.kind, use.clamp_len, source);
  check_position_table(model.position, use, tgt_len, source);
}

void check_position_table(const PositionConfig& position, const ModelUse& use, int64_t tgt_len,
                          std::string_view source) {
  const int64_t rows = position.max_positions;
  const int64_t needed = position_rows(position, use, tgt_len);
  if (needed <= rows) return;
  if (position.kind == PositionKind::kLearned)
    throw ConfigError("{}: model.position.max_positions: expected at least {}, the segment's tgt_len, found {}", source,
                      needed, rows);
  throw ConfigError(
      "{}: model.position.max_positions: expected at least {} for tgt_len {} and mem_len {}, or a "
      "model.position.clamp_len from 1 to {}; found {} and clamp_len {}",
      source, needed, tgt_len, use.mem_len, rows - 1, rows, use.clamp_len);
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
  check_position_table(config.model.position, use_of(config.model), config.training.tgt_len, source);
  const ModelUse evaluation = evaluation_use(config);
  check_position_table(config.model.position, evaluation, evaluation_tgt_len(config), source);
  check_same_length(evaluation, "evaluation.mem_len", source);
  check_optimization(config, source);
}

}  // namespace segue

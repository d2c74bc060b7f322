#include "core/config/kind_requirements.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "core/config/block_row.h"
#include "core/config/depth_kind.h"
#include "core/config/kind_checks.h"
#include "core/config/layers.h"
#include "core/config/memory_kind.h"
#include "core/config/memory_row.h"
#include "core/config/objective_kind.h"
#include "core/config/position_kind.h"
#include "core/config/score_kind.h"
#include "core/config/visibility_kind.h"

namespace segue {

KindRequirements requirements_of(const MemoryConfig& memory) { return row_of(memory.kind).needs(memory); }

KindRequirements requirements_of(const BlockConfig& block) { return row_of(block.kind).needs(block); }

KindRequirements requirements_of(const DepthConfig& depth) {
  if (depth.kind == DepthKind::kFixed) return {};
  using enum VisibilityKind;
  KindRequirements needs{.visibility = {.choices = Kinds(kCausal, kFull, kWindow, kSparse),
                                        .reason = {.because = "spans are learned for each layer"}},
                         .check_keys = check_shared_layers};
  if (depth.kind == DepthKind::kHalting) {
    needs.check_keys = check_halting;
    needs.no_global_stream = kTokensOfTheTextHalt;
  }
  return needs;
}

KindRequirements requirements_of(ScoreKind score) {
  switch (score) {
    case ScoreKind::kSoftmax:
      return {};
    case ScoreKind::kState:
      return {.memory = {.choices = Kinds(MemoryKind::kHiddenStates, MemoryKind::kKeysValues)},
              .objective = {.choices = Kinds(ObjectiveKind::kNextToken)},
              .visibility = {.choices = Kinds(VisibilityKind::kCausal)},
              .no_same_length = Reason{},
              .no_documents = kGoesOn,
              .hands_on_gradients = true,
              .remembers_without_rows = true};
  }
  throw ContractError("unknown score kind");
}

KindRequirements requirements_of(ObjectiveKind objective) {
  using enum VisibilityKind;
  switch (objective) {
    case ObjectiveKind::kNextToken:
      return {
          .visibility = {.choices = Kinds(kCausal, kWindow, kSparse, kAdaptive),
                         .words = "a kind that does not look ahead"},
          .no_global_stream = Reason{.because = "global tokens see the whole segment, also what is to be predicted"}};
    case ObjectiveKind::kMasked:  // distances to keys after a query have neither rows nor biases nor gains
      return {.visibility = {.choices = Kinds(kFull, kSparse)},
              .layer_position = {.accepted = {.vectors = true, .turns = true},
                                 .reason = {.because = "a query also sees keys after its own position"}},
              .check_keys = check_mask_shares};
  }
  throw ContractError("unknown objective");
}

KindRequirements requirements_of(const GlobalStreamConfig& stream) {
  if (stream.tokens == 0) return {.check_keys = check_global_projections};
  return {.memory = {.choices = Kinds(MemoryKind::kHiddenStates, MemoryKind::kKeysValues)},
          .no_documents = Reason{.because = "global tokens see the whole segment, even if it holds several documents"}};
}

namespace {

template <NamedEnum T>
std::string name_of_kind(std::string_view key, T kind) {
  return fmt::format(R"({} = "{}")", key, name_of_choice(kind));
}

template <TabledEnum T>
bool includes(const Requirement<T>& need, T choice) {
  return need.choices.contain(static_cast<size_t>(choice));
}

bool includes(const PositionRequirement& need, PositionKind kind) {
  return refused_term(offered_by(kind), need.accepted).empty();
}

// Those that are included, in the order in which people see choices.
template <TabledEnum T>
std::string included_words(const auto& need) {
  const Words words = choices_of(T{});
  std::vector<std::string_view> included;
  for (const ExplainedWord& choice : table_of(T{}).explained()) {
    const auto place = std::ranges::find(words, choice.word) - words.begin();
    if (includes(need, static_cast<T>(place))) included.push_back(choice.word);
  }
  return listed_in_quotes(included);
}

// Holds a model to what one of its kinds needs.
class NeedsCheck {
 public:
  NeedsCheck(const ModelConfig& model, const KindInUse& kind, std::string_view source)
      : model_(model), kind_(kind), needs_(kind.needs), source_(source) {}

  void check_all() const {
    if (needs_.check_keys != nullptr) needs_.check_keys(model_, source_);
    check_whole_model();
    for (int64_t layer = 0; layer < model_.n_layer; ++layer) check_layer(layer, visibility_of_layer(model_, layer));
    const int64_t global_tokens = model_.global_stream.tokens;
    if (needs_.no_global_stream && global_tokens > 0)
      refuse("model.global_stream.tokens", "0", *needs_.no_global_stream, fmt::format("{}", global_tokens));
    if (needs_.check_sizes != nullptr) needs_.check_sizes(model_, source_);
  }

  void check_whole_model() const {
    expect(needs_.position, "model.position.kind", model_.position.kind);
    if (needs_.some_memory && model_.mem_len == 0) refuse("model.mem_len", "at least 1", *needs_.some_memory, "0");
    expect(needs_.initial, "model.memory.initial", model_.memory.initial);
    expect(needs_.memory, "model.memory.kind", model_.memory.kind);
    expect(needs_.objective, "model.objective.kind", model_.objective.kind);
  }

  void check_layer(int64_t layer, const VisibilityConfig& seen) const {
    const std::string key = visibility_key(model_, layer);
    expect(needs_.visibility, key + ".kind", seen.kind);
    if (needs_.no_same_length && seen.same_length)
      refuse(key + ".same_length", "false", *needs_.no_same_length, "true");
    expect(needs_.layer_position, position_key(model_, layer) + ".kind", position_of_layer(model_, layer).kind);
  }

 private:
  template <TabledEnum T>
  void expect(const Requirement<T>& need, std::string_view key, T found) const {
    if (includes(need, found)) return;
    const std::string words = need.words.empty() ? included_words<T>(need) : std::string(need.words);
    refuse(key, words, need.reason, in_quotes(name_of_choice(found)));
  }

  void expect(const PositionRequirement& need, std::string_view key, PositionKind found) const {
    if (includes(need, found)) return;
    refuse(key, included_words<PositionKind>(need), need.reason, in_quotes(name_of_choice(found)));
  }

  [[noreturn]] void refuse(std::string_view key, std::string_view expected, const Reason& reason,
                           std::string_view found) const {
    throw_conflict({.key = key, .expected = expected, .reason = reason, .with = kind_.name, .found = found}, source_);
  }

  const ModelConfig& model_;
  const KindInUse& kind_;
  const KindRequirements& needs_;
  std::string_view source_;
};

KindInUse memory_in_use(const ModelConfig& model) {
  return {name_of_kind("model.memory.kind", model.memory.kind), requirements_of(model.memory)};
}

KindInUse block_in_use(const ModelConfig& model) {
  return {name_of_kind("model.block.kind", model.block.kind), requirements_of(model.block)};
}

KindInUse depth_in_use(const ModelConfig& model) {
  return {name_of_kind("model.depth.kind", model.depth.kind), requirements_of(model.depth)};
}

// `key` leads to the score that keeps them.
KindInUse states_in_use(const std::string& key) {
  return {name_of_kind(key + ".kind", ScoreKind::kState), requirements_of(ScoreKind::kState)};
}

KindInUse objective_in_use(const ModelConfig& model) {
  return {name_of_kind("model.objective.kind", model.objective.kind), requirements_of(model.objective.kind)};
}

KindInUse global_stream_in_use(const ModelConfig& model) {
  return {fmt::format("model.global_stream.tokens = {}", model.global_stream.tokens),
          requirements_of(model.global_stream)};
}

// Of one layer after another that keeps a state. Where all do, no layer has rows of memory, and what the model says of
// visibility, which nobody reads, is as they need it.
void check_states(const ModelConfig& model, std::string_view source) {
  const bool are_all = state_layers(model) == model.n_layer;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    if (!keeps_state(model, layer)) continue;
    check_state_keys(model, layer, source);
    const KindInUse states = states_in_use(score_key(model, layer));
    const NeedsCheck check(model, states, source);
    check.check_whole_model();
    const bool is_models = are_all && visibility_key(model, layer) == "model.visibility";
    check.check_layer(layer, is_models ? model.visibility : visibility_of_layer(model, layer));
  }
  if (!are_all) return;
  check_rows_of_states(model, {.use = use_of(model), .mem_len_key = "model.mem_len"}, source);
  const KindInUse alone{states_in_use(score_key(model, 0)).name,
                        {.memory = {.choices = Kinds(MemoryKind::kHiddenStates), .reason = kNoRows}}};
  NeedsCheck(model, alone, source).check_whole_model();
}

}  // namespace

std::vector<KindInUse> kinds_in_use(const ModelConfig& model) {
  std::vector<KindInUse> kinds{memory_in_use(model), block_in_use(model), depth_in_use(model)};
  if (const std::string key = key_of_states(model); !key.empty()) kinds.push_back(states_in_use(key));
  kinds.push_back(objective_in_use(model));
  kinds.push_back(global_stream_in_use(model));
  return kinds;
}

bool allows_recompute(const ModelConfig& model) {
  return std::ranges::none_of(kinds_in_use(model),
                              [](const KindInUse& kind) { return kind.needs.no_recompute.has_value(); });
}

void check_kind_requirements(const ModelConfig& model, std::string_view source) {
  const bool is_last = requirements_of(model.memory).is_checked_last;
  for (const KindInUse& kind : {block_in_use(model), depth_in_use(model)}) NeedsCheck(model, kind, source).check_all();
  if (!is_last) check_memory_requirements(model, source);
  check_states(model, source);
  for (const KindInUse& kind : {objective_in_use(model), global_stream_in_use(model)})
    NeedsCheck(model, kind, source).check_all();
  if (is_last) check_memory_requirements(model, source);
}

void check_memory_requirements(const ModelConfig& model, std::string_view source) {
  NeedsCheck(model, memory_in_use(model), source).check_all();
}

void check_memory_lengths(const ModelConfig& model, const UsedLengths& lengths, std::string_view source) {
  const KindRequirements needs = requirements_of(model.memory);
  if (needs.check_lengths != nullptr) needs.check_lengths(model, lengths, source);
}

}  // namespace segue

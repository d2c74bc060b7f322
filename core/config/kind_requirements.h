// What each kind requires of the rest of a config: one row for each kind. All checks walk these rows: of a config, of
// another use of its model, and of a stage of training. Only here does a kind say what it goes with. The terms that
// positions offer, and scores take, stand in core/config/position_terms.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/field_info.h"
#include "core/config/conflict.h"
#include "core/config/memory_kind.h"
#include "core/config/model_config.h"
#include "core/config/objective_kind.h"
#include "core/config/position_terms.h"
#include "core/config/score_kind.h"
#include "core/config/used_lengths.h"
#include "core/config/visibility_kind.h"

namespace segue {

// The choices of another axis that a kind goes with, by default all.
template <TabledEnum T>
struct Requirement {
  Kinds choices = {};
  Reason reason = {};
  std::string_view words = {};  // for the choices; empty: all their names
};

// The positions that it goes with, by what they offer.
struct PositionRequirement {
  PositionTerms accepted = {.vectors = true, .turns = true, .rows = true, .biases = true, .gains = true};
  Reason reason = {};
};

// What a row does not name may be as it likes.
struct KindRequirements {
  // Of the model; in this order, before what is needed of layers:
  PositionRequirement position = {};  // its own, whatever layers have
  std::optional<Reason> some_memory = {};
  Requirement<InitialMemory> initial = {};
  Requirement<MemoryKind> memory = {};
  Requirement<ObjectiveKind> objective = {};

  // Of every layer, or of those that are of the kind:
  Requirement<VisibilityKind> visibility = {};
  std::optional<Reason> no_same_length = {};
  PositionRequirement layer_position = {};

  // Of the model, last:
  std::optional<Reason> no_global_stream = {};

  // Of a run:
  std::optional<Reason> no_documents = {};  // none may end within a segment
  std::optional<Reason> no_recompute = {};  // training.recompute is none
  bool hands_on_gradients = false;          // a later segment of a step learns through what it remembers
  bool remembers_without_rows = false;      // something, where model.mem_len is 0

  // Of itself, before all these: keys of its own that go together; and behind them, sizes, and lengths of a use.
  void (*check_keys)(const ModelConfig& model, std::string_view source) = nullptr;
  void (*check_sizes)(const ModelConfig& model, std::string_view source) = nullptr;
  void (*check_lengths)(const ModelConfig& model, const UsedLengths& lengths, std::string_view source) = nullptr;
  bool is_checked_last = false;  // what other axes need is told before

  std::string_view inspected = {};  // what `segue inspect` says of it
};

KindRequirements requirements_of(const MemoryConfig& memory);
KindRequirements requirements_of(const BlockConfig& block);
KindRequirements requirements_of(const DepthConfig& depth);
KindRequirements requirements_of(ScoreKind score);
KindRequirements requirements_of(ObjectiveKind objective);
KindRequirements requirements_of(const GlobalStreamConfig& stream);

// A kind that a model is of, by the key and the value that say so: `model.memory.kind = "tokens"`.
struct KindInUse {
  std::string name;
  KindRequirements needs;
};

// Those of its memory, its block, its depth, its states, its objective and its global stream, if it has such.
std::vector<KindInUse> kinds_in_use(const ModelConfig& model);

// Whether training may compute activations of the model again: none of its kinds refuses it.
bool allows_recompute(const ModelConfig& model);

// Throw ConfigError naming `source` and both keys when a model is not as its kinds, or that of its memory, need it.
void check_kind_requirements(const ModelConfig& model, std::string_view source);
void check_memory_requirements(const ModelConfig& model, std::string_view source);

// The same for lengths that its memory needs.
void check_memory_lengths(const ModelConfig& model, const UsedLengths& lengths, std::string_view source);

}  // namespace segue

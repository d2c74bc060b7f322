// Finds the run that saved a checkpoint, and what the checkpoint tells of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/log.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/made_by.h"
#include "core/config/config.h"
#include "core/evaluation/evaluation_settings.h"
#include "data_pipeline/dataset.h"

namespace segue {

// With which it was trained; none of an import. Throws CheckpointError naming file and key.
std::optional<Config> config_of(const Checkpoint& checkpoint);

// Who made it; nothing where it does not say so.
std::optional<MadeBy> made_by_of(const Checkpoint& checkpoint);

// The path of the dataset that it was trained on. Throws UsageError where it does not tell one that is there.
std::string data_of(const Checkpoint& checkpoint);

// That the dataset at that path is the one that it was trained on; a warning where it no longer is.
void tell_of_training_data(const Checkpoint& checkpoint, const Dataset& dataset, Logger& logger);

// When a split of the dataset holds text that the checkpoint was trained on, since its sources were cut elsewhere.
void warn_of_learned_text(const Checkpoint& checkpoint, const Dataset& dataset, const std::string& split,
                          Logger& logger);

// The run whose checkpoint it is; none of an import or a copy.
std::optional<std::filesystem::path> run_of(const Checkpoint& checkpoint);

// A name for a result that has none: the same for the same settings, another for others.
// "eval-test-mem_len-0-128-warm_up-auto"
std::string default_name(const EvaluationSettings& settings, const Checkpoint& checkpoint);

}  // namespace segue

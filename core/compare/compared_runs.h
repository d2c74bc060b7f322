// Reads from the directories of a comparison's runs how far each run has come, and what was measured of it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "core/compare/comparison.h"
#include "core/report/run_data.h"

namespace segue {

// The name of every run's evaluation.
inline constexpr const char* kComparedEvaluation = "compare";
// And of those in which the learning rate is tried.
inline constexpr const char* kSweptEvaluation = "sweep";

// In the directory of a run whose loss became no finite number, in training or when it was measured: the run has ended.
inline constexpr const char* kDivergedFile = "diverged.json";

// `directory`: of the comparison, here and below.
bool is_measured(const std::filesystem::path& directory, const ComparedRun& run,
                 std::string_view evaluation = kComparedEvaluation);

bool has_diverged(const std::filesystem::path& directory, const ComparedRun& run);

// Whether nothing is left to do for a run.
bool has_ended(const std::filesystem::path& directory, const ComparedRun& run,
               std::string_view evaluation = kComparedEvaluation);

// Whether a short training that times steps has ended.
bool is_timed(const std::filesystem::path& directory, const ComparedRun& run);

// What an evaluation of a run found, at each of its lengths. Throws DataError naming the run when it found nothing.
const report::Evaluation& evaluation_of(const report::RunData& run, std::string_view name = kComparedEvaluation);

// What was found of a run at one of the measured lengths.
const report::EvaluatedLength& measured_at(const report::RunData& run, size_t point);

}  // namespace segue

// Builds the command lines with which `segue compare` evaluates its runs.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/compare/comparison.h"

namespace segue {

// A comparison, and where its runs lie.
struct PlacedComparison : ComparisonPlan {
  std::filesystem::path directory = {};
  std::set<std::string> of_examples = {};  // splits that consist of examples
};

// Measures a run as the comparison asks.
std::vector<std::string> measuring_command_line(const PlacedComparison& plan, const ComparedRun& run);

// Measures a learning rate: at the lengths at which runs evaluate themselves during training, after a warm-up.
std::vector<std::string> sweeping_command_line(const PlacedComparison& plan, const ComparedRun& run);

}  // namespace segue

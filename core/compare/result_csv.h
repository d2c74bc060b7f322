// Writes the tables of a comparison as CSV, for other programs.
#pragma once

#include <string>
#include <vector>

#include "core/compare/comparison_result.h"

namespace segue {

// By the name of its file, with the units in its head.
struct CsvFile {
  std::string name = {};  // "measures.csv", "costs.csv", "learning_rates.csv"
  std::string text = {};
};
std::vector<CsvFile> result_csv(const ComparisonResult& result);

}  // namespace segue

// Notes on the programs that a comparison has run. Each run has a file processes/NAME.jsonl in the comparison's
// directory, with one line for each program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/compare/comparison.h"

namespace segue {

struct ProcessNote {
  std::string command = {};  // "train", "eval"
  int64_t code = 0;          // that it ended with
  double seconds = 0.0;
  int64_t peak_bytes = 0;  // the most memory that it was seen to hold
};

void add_note(const std::filesystem::path& directory, const ComparedRun& run, const ProcessNote& note);

// In their order; none where there is no file. Throws DataError naming file and line for one that is damaged.
std::vector<ProcessNote> notes_of(const std::filesystem::path& directory, const ComparedRun& run);

}  // namespace segue

// Records which program made a checkpoint or a part of a run, where and with what. People read it. One field serves
// programs too: a dataset that is not found at its path is looked for where the run last had it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fields.h"

namespace segue {

inline constexpr const char* kMadeByFile = "made_by.json";      // of a checkpoint
inline constexpr const char* kSessionsFile = "sessions.jsonl";  // of a run: a line for each process that trained it

struct MadeBy {
  std::string program;  // "segue 1.2.3 (d72abaa1c0de)"
  std::string host;     // of the first rank
  std::string device;   // of the first rank, and what code it runs there
  int64_t threads = 0;  // of the first rank
  int64_t ranks = 1;
  std::string began;      // of the process, in UTC
  int64_t from_step = 0;  // that it resumed from
  std::string data;       // absolute path of the dataset; empty: of a version that did not say it
  void describe(JsonFields& fields);
};

std::string made_by_text(const MadeBy& made_by);

// Whole lines that say so; what else a file may hold, half a line of a killed process perhaps, is left out.
std::vector<MadeBy> parse_sessions(const std::string& text);

// "segue 1.2.3 (d72abaa1c0de) on HOST, 4 ranks of 2 threads, cpu: ...; 2026-11-22T17:00:00Z, from step 120"
std::string describe_made_by(const MadeBy& made_by);

}  // namespace segue

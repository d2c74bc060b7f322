// What `segue train` is given, and which run that names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fields.h"

namespace segue {

struct TrainOptions {
  std::string config;
  std::string run;
  std::vector<std::string> overrides;
  bool resume = false;
  bool quiet = false;
  bool dry_run = false;
  std::optional<int64_t> ranks;

  void describe(JsonFields& fields);
};

// `--resume RUN` names the run as `--run RUN` does. Throws UsageError where a run is given for a config, or something
// else for a run.
TrainOptions understood(TrainOptions options);

// Where the run is or will be.
std::filesystem::path run_path(const TrainOptions& options);

// "segue train --run runs/book --resume"
std::string resuming_command(const std::filesystem::path& run);

}  // namespace segue

// `segue train --dry-run`: what each rank would hold, and what a step would send.
#pragma once

#include <string>
#include <vector>

#include "base/device.h"
#include "core/config/config.h"

namespace segue {

// Where a rank would run; both empty where that is not known.
struct RankPlace {
  std::string host = {};
  std::string processors = {};  // "cores 0-3", "cuda:0"
};

// A table for people, one line for each rank, and on `device`, the CPU, what is wrong where the first one's host has
// less memory than its ranks would take. Reads nothing but the dataset's manifest.
std::string describe_training(const Config& config, const std::vector<RankPlace>& places, Device device);

}  // namespace segue

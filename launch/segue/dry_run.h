// segue train --dry-run: who would hold what, and what a step would send.
#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"

namespace segue {

// A table for people, one line for each rank. `places`: where every rank would run. Reads nothing but the dataset's
// manifest.
std::string describe_training(const Config& config, const std::vector<std::string>& places);

}  // namespace segue

// Describes a dataset to people, as `segue inspect` prints it.
#pragma once

#include <string>

#include "base/log.h"
#include "data_pipeline/dataset.h"

namespace segue {

// The tokenizer; of each split its tokens, bytes, unknown words and first tokens; shards, sizes, sources and checksums.
// Several lines, each ended.
std::string describe(const Dataset& dataset);

// What results in bits per byte leave out: "54.1 % of its tokens are unknown, and no bits say what they stand for".
// Empty where all is known.
std::string describe_unknown(const SplitInfo& split);
void warn_of_unknown(const Dataset& dataset, const std::string& split, Logger& logger);

}  // namespace segue

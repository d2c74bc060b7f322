// A dataset explained to people.
#pragma once

#include <string>

#include "data_pipeline/dataset.h"

namespace segue {

// Splits, tokens, shards, sizes, vocabulary, sources and checksums; several lines, each ended.
std::string describe(const Dataset& dataset);

}  // namespace segue

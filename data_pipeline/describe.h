// A dataset explained to people.
#pragma once

#include <string>

#include "data_pipeline/dataset.h"

namespace segue {

// The tokenizer; of each split its tokens, bytes, unknown words and first tokens; shards, sizes, sources and checksums.
// Several lines, each ended.
std::string describe(const Dataset& dataset);

}  // namespace segue

// Where the documents of a split begin: behind each place where the tokens of a boundary stand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data_pipeline/dataset.h"

namespace segue {

// The tokens of a boundary: of a text, what the dataset's tokenizer makes of it as a file of its own; of ready-made
// tokens, their numbers, "50256" or "13,10". Throws DataError when it has none, or the vocabulary does not hold it.
std::vector<int32_t> boundary_tokens(const Dataset& dataset, const std::string& boundary);

// The first token of every document, ascending from 0. A boundary belongs to the document that it ends; boundaries do
// not overlap. Throws DataError when there is none in the split.
std::vector<int64_t> find_documents(TokenSource source, std::span<const int32_t> boundary);

}  // namespace segue

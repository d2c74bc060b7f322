// The tokenizer in a checkpoint, so that a model reads text only as the tokens that it was trained with.
//
//   tokenizer.json                       TokenizerInfo
//   vocabulary.txt or tokenizer.model    its file, for kinds that have one
//
// A checkpoint without them (an import without --data or --tokenizer, a run on ready-made tokens or of an earlier
// version) has an unknown tokenizer.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/checkpoint/checkpoint.h"
#include "core/model/stored_model.h"
#include "data_pipeline/dataset.h"

namespace segue {

inline constexpr const char* kTokenizerFile = "tokenizer.json";

// The files of the dataset's tokenizer; none for ready-made tokens.
std::vector<TextFile> tokenizer_files(const Dataset& dataset);
std::vector<TextFile> tokenizer_files(const Tokenizer& tokenizer);

// Throw CheckpointError, or DataError about the tokenizer's file, when what is stored contradicts itself.
std::optional<TokenizerInfo> read_tokenizer_info(const Checkpoint& checkpoint);
std::unique_ptr<Tokenizer> read_tokenizer(const Checkpoint& checkpoint);  // null when it is unknown

// Throws DataError naming kind, vocabulary size and checksum, expected and found, when the dataset has other tokens
// than the model was trained with. An unknown tokenizer goes with any of the same vocabulary size.
void check_tokenizer(const Checkpoint& checkpoint, const Dataset& dataset);

}  // namespace segue

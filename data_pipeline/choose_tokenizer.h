// Makes the tokenizer that options ask for: learned from the sources, read from a file, or one that needs neither.
#pragma once

#include <memory>

#include "data_pipeline/prepare.h"
#include "data_pipeline/prepare_plan.h"
#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

// With the kind of the tokenizer's file, where one is asked for. Throws UsageError when what is asked for is neither a
// kind nor a file, DataError when the file holds no tokenizer.
PrepareOptions with_kind_of_file(PrepareOptions options);

// Throws UsageError for options that do not belong to the kind, or that contradict each other.
void check_tokenizer_options(const PrepareOptions& options);

// Null for ready-made tokens. Reads the sources where they decide; throws DataError as prepare() does.
std::unique_ptr<Tokenizer> choose_tokenizer(const PrepareOptions& options, const std::vector<Corpus>& corpora,
                                            Logger& logger);

// The tokenizer in `asked.file`: what with_kind_of_file finds, or else a list of words. Throws FileError for a file
// that cannot be read, UsageError for options of another kind of file, DataError for a file that is damaged or no text.
std::unique_ptr<Tokenizer> read_tokenizer_file(const TokenizerOptions& asked, Logger& logger);

}  // namespace segue

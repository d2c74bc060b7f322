// Reads what stands beside ready-made tokens: a mark for every token, and the length of examples.
#pragma once

#include <filesystem>
#include <vector>

#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/prepare.h"
#include "data_pipeline/prepare_plan.h"

namespace segue {

// Of a source FILE, one byte for each of its tokens (token_mark.h): FILE.marks.
std::filesystem::path marks_of_source(const std::filesystem::path& file);

// Throws UsageError for marks or examples of what are no ready-made tokens in files of one split each.
void check_mark_options(const PrepareOptions& options);

// Writes the shards of the marks beside those of the tokens, and adds them, their sources and the examples to the
// manifest. Throws DataError for marks that are missing or not as many as their tokens, and for tokens that are no
// whole number of examples.
void add_source_marks(const PrepareOptions& options, const std::vector<Corpus>& corpora,
                      const std::filesystem::path& directory, DatasetManifest& manifest);

}  // namespace segue

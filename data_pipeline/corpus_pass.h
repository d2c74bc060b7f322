// One pass over the sources of a dataset: their text in order, separated by split and by file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/encoding_warnings.h"
#include "data_pipeline/prepare_plan.h"
#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

// Returns the sink for the text of a split (for the bytes of ready-made tokens); null: none.
using SinkOfSplit = std::function<TextSink*(const std::string& split)>;

struct PassResult {
  std::vector<SourceInfo> sources;  // with the splits that got a part of each
  int64_t largest_token = 0;        // of ready-made ones, separators included
  EncodingWarnings signs;           // of text
};

// `what` is done, for the progress line. Throws DataError when a source is not what it was planned to be.
PassResult read_corpora(const PrepareOptions& options, const std::vector<Corpus>& corpora, const std::string& what,
                        const SinkOfSplit& sink_of);

}  // namespace segue

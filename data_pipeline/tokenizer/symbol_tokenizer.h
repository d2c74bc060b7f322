// The original's preparation of enwik8 and text8: a token per byte that it keeps, numbered by frequency.
//
// enwik8: line feeds vanish (the original writes them as line ends of its own file, which its reader strips). text8:
// all white space but the space vanishes, and white space at both ends of a split. Symbols are counted over all splits
// and numbered by falling count; those that occur equally often in the order of their first occurrence.
#pragma once

#include <memory>

#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

std::unique_ptr<TokenizerLearner> make_symbol_learner(TokenizerKind kind);
std::unique_ptr<Tokenizer> load_symbol_tokenizer(const TokenizerInfo& info);

}  // namespace segue

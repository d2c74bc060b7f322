// Words between white space, each a token.
//
// A vocabulary learned from text holds the mark of the line's end first, where there is one, then the unknown word,
// unless the text has it as a word like any other that is frequent enough to be kept, then the words by falling count;
// those that occur equally often stand in the order of their first occurrence.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

struct WordOptions {
  LineMarks line_marks = LineMarks::kNone;
  std::string line_mark = "<eos>";
  std::string unknown = "<unk>";
  int64_t min_count = 1;                        // words that occur more rarely are unknown
  std::optional<int64_t> vocabulary_size = {};  // at most so many tokens
};

// From the text of split train. Throws UsageError for a mark or an unknown word that is no word.
std::unique_ptr<TokenizerLearner> make_word_learner(const WordOptions& options);

// The first word of each line of `list`, which messages call `source`. The vocabulary is exactly these words: without
// the unknown word among them, other words are refused when they are met. Throws DataError for a line without a word or
// with one that is not UTF-8, a word that comes twice, or a missing mark.
std::unique_ptr<Tokenizer> read_word_list(const WordOptions& options, const std::string& list,
                                          const std::string& source);

// `vocabulary`: one word per line in the order of their tokens.
std::unique_ptr<Tokenizer> load_word_tokenizer(const TokenizerInfo& info, const std::string& vocabulary,
                                               const std::string& source);

}  // namespace segue

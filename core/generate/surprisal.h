// How surprising each word of a text is to a model: -log2 p(word | all before it), in bits (Hale 2001; Levy 2008).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/segment_engine.h"
#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

// The loss in nats of every token but the first `known`, which are context alone; at least one is. One stream, read in
// segments of `tgt_len` tokens with the model's memory; `progress` hears of how many tokens so far.
std::vector<float> token_losses(const ModelInUse& in_use, std::span<const int32_t> tokens, int64_t known,
                                int64_t tgt_len, const std::function<void(int64_t)>& progress = nullptr);

// A word between white space: the sum over its tokens, the white space before it included.
struct WordSurprisal {
  std::string word;
  std::optional<double> bits = 0.0;  // nothing where a token of the word was not scored
  int64_t tokens = 0;
};

// The words of `tokens` from number `begin` on, `losses` being those of the last of them, in nats: without a context
// nothing foretells the first token. White space at the end belongs to no word and is left out.
std::vector<WordSurprisal> word_surprisals(const Tokenizer& tokenizer, std::span<const int32_t> tokens, int64_t begin,
                                           std::span<const float> losses);

// A table of tabs, a row for each word: the word, its bits, its tokens. A word with a quote is quoted as in CSV
// (RFC 4180), which readers of such tables undo; bits that are not known are empty.
std::string surprisal_table(const std::vector<WordSurprisal>& words);

}  // namespace segue

// How surprising each word of a text is to a model: -log2 p(word | all before it), in bits (Hale 2001; Levy 2008).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "core/engine/segment_engine.h"
#include "core/generate/text_tokens.h"

namespace segue {

// The loss in nats of every token but the first `known`, which are context alone; at least one is. One stream, read in
// segments of `tgt_len` tokens with the model's memory; `progress` hears of how many tokens so far.
std::vector<float> token_losses(const ModelInUse& in_use, std::span<const int32_t> tokens, int64_t known,
                                int64_t tgt_len, const std::function<void(int64_t)>& progress = nullptr);

// A word between white space, with what stands before it on its line; the end of a line, with the white space before
// it; or white space at the end of the text.
enum class SurprisalKind : uint8_t { kWord, kLineEnd, kWhiteSpace };

// The sum over the tokens of one of these.
struct Surprisal {
  SurprisalKind kind = SurprisalKind::kWord;
  std::string word = {};             // empty for the other kinds
  std::optional<double> bits = 0.0;  // nothing where one of its tokens was not scored
  int64_t tokens = 0;
  int64_t unknown = 0;  // of these, to the vocabulary
};

// Those of the text's tokens, each token being part of one; `losses` are those of the last of them, in nats: without a
// context nothing comes before the first token. Lines end at "\n", "\r\n" or "\r".
std::vector<Surprisal> surprisals(const Tokenizer& tokenizer, const TextTokens& read, std::span<const float> losses);

// A table of tabs, a row for each: the word of the text, or "line end" or "white space", which no word is; its bits,
// which are empty where they are not known; its tokens; how many of these are unknown to the vocabulary. A word with a
// quote is quoted as in CSV (RFC 4180), which readers of such tables undo.
std::string surprisal_table(const std::vector<Surprisal>& rows);

struct SurprisalSums {
  struct Sum {
    int64_t count = 0;
    int64_t scored = 0;
    int64_t unknown = 0;  // that hold a token unknown to the vocabulary
    double bits = 0.0;    // of those scored
    std::optional<double> mean() const;
  };
  Sum words;
  Sum line_ends;
  Sum white_space;
  bool any_scored() const { return words.scored + line_ends.scored + white_space.scored > 0; }
};
SurprisalSums sums_of(const std::vector<Surprisal>& rows);

// "12 words, 3.456 bits per word, the first not scored: nothing comes before it; 2 line ends, 1.234 bits per line end"
std::string describe_surprisals(const SurprisalSums& sums);

// {"words": {"count", "scored", "unknown": that hold a token unknown to the vocabulary, "bits": of those scored,
// "mean": or null}, "line_ends": ..., "white_space": ..., "rows": [{"kind", "word": or null, "bits": or null, "tokens",
// "unknown_tokens": of these}]}
OrderedJson surprisals_json(const std::vector<Surprisal>& rows);

}  // namespace segue

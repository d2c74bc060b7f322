// The models of tokenizers: a piece of text to tokens.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/tokenizer/subword/pair_map.h"
#include "data_pipeline/tokenizer/subword/subword_text.h"
#include "data_pipeline/tokenizer/subword/vocabulary.h"

namespace segue {

struct SubwordToken {
  uint32_t token = 0;
  uint32_t begin = 0;  // byte of the piece, or of the text, where it begins
};

class SubwordModel {
 public:
  virtual ~SubwordModel() = default;
  // Adds the tokens of a piece. A part of a piece gets none that only the whole piece would get. Throws SubwordError.
  virtual void encode(std::string_view piece, bool is_part, std::vector<SubwordToken>& tokens) const = 0;
};

// What a model makes of text without a token. An unknown token that is no token of the vocabulary is -1.
struct UnknownRule {
  bool is_dropped = false;  // nothing: a BPE without "unk_token"
  int64_t token = -1;
  bool fuses = false;  // one for several characters in a row
};

struct BpeOptions {
  bool bytes = false;           // tokens are of bytes, not of characters
  bool byte_fallback = false;   // characters without a token become tokens "<0x41>" of their bytes
  bool ignores_merges = false;  // a piece that is a token is taken whole
  std::string prefix = {};      // before every character but the first
  std::string suffix = {};      // behind the last character
  UnknownRule unknown = {};
};

// Pairs of tokens that are merged, the first ones first.
struct MergeTable {
  PairMap merges;  // pair_key(left, right): pair_key(rank, merged)
  void add(int64_t left, int64_t right, int64_t merged) {
    const uint64_t key = pair_key(static_cast<uint32_t>(left), static_cast<uint32_t>(right));
    const auto rank = static_cast<uint32_t>(count++);
    merges.set(key, pair_key(rank, static_cast<uint32_t>(merged)));
  }
  int64_t count = 0;
};

// Each of these keeps a reference to the vocabulary.
std::unique_ptr<SubwordModel> make_bpe_model(const SubwordVocabulary& vocabulary, MergeTable merges,
                                             const BpeOptions& options);
// Merges two neighbours where their bytes together are a token, the lowest tokens first.
std::unique_ptr<SubwordModel> make_rank_model(const SubwordVocabulary& vocabulary);

struct UnigramOptions {
  bool bytes = false;
  bool byte_fallback = false;
  int64_t unknown = -1;
};
// `entries`: texts with their scores; the entry of a text that comes twice is the last one.
struct UnigramEntry {
  std::string text;
  double score = 0;
};
std::unique_ptr<SubwordModel> make_unigram_model(const std::vector<UnigramEntry>& entries,
                                                 const UnigramOptions& options);

struct WordPieceOptions {
  std::string prefix = "##";
  int64_t longest_word = 100;  // characters; longer ones are unknown
  bool bytes = false;
  int64_t unknown = -1;
};
std::unique_ptr<SubwordModel> make_wordpiece_model(const SubwordVocabulary& vocabulary,
                                                   const WordPieceOptions& options);

// "<0x41>"
std::string byte_token_text(uint8_t byte);
std::optional<uint8_t> byte_of_token_text(std::string_view text);

}  // namespace segue

// The pre-tokenizers of tokenizer.json: they cut text into pieces that a model makes tokens of one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data_pipeline/tokenizer/subword/regex.h"
#include "data_pipeline/tokenizer/subword/subword_text.h"

namespace segue {

// What becomes of the pieces that a pattern matches.
enum class SplitBehavior : uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// Which pieces are given a space or its mark in front.
enum class PrefixScheme : uint8_t { kNever, kFirst, kAlways };

// GPT-2's pattern, of ByteLevel and of its rank file.
inline constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Cuts every piece that is no added token. May change the text.
  virtual void cut(PieceText& text, const TextPlace& place) const = 0;
};

std::unique_ptr<PreTokenizer> make_regex_split(std::unique_ptr<Regex> pattern, SplitBehavior behavior, bool invert);
std::unique_ptr<PreTokenizer> make_string_split(std::string pattern, SplitBehavior behavior, bool invert);
std::unique_ptr<PreTokenizer> make_byte_level_prefix();  // a space before pieces that begin with none
std::unique_ptr<PreTokenizer> make_metaspace(std::string mark, PrefixScheme scheme, bool split);
std::unique_ptr<PreTokenizer> make_words_split();  // runs of word characters and runs of others, without white space
std::unique_ptr<PreTokenizer> make_white_space_split();
std::unique_ptr<PreTokenizer> make_bert_split();
std::unique_ptr<PreTokenizer> make_digits_split(bool individual);
std::unique_ptr<PreTokenizer> make_punctuation_split(SplitBehavior behavior);
std::unique_ptr<PreTokenizer> make_delimiter_split(char32_t delimiter);
std::unique_ptr<PreTokenizer> make_length_split(size_t characters);

}  // namespace segue

// Tokens back to text, and from the text itself where the vocabulary lost it.
#include "core/generate/text_tokens.h"

#include <numeric>
#include <string_view>
#include <utility>

#include "data_pipeline/tokenizer/word_scanner.h"

namespace segue {

namespace {

bool ends_with_white_space(std::string_view text) {
  constexpr size_t kLongest = 3;  // bytes of white space in UTF-8
  for (size_t bytes = 1; bytes <= std::min(kLongest, text.size()); ++bytes)
    if (white_space_at(text.substr(text.size() - bytes)) == bytes) return true;
  return false;
}

}  // namespace

std::vector<TokenText> texts_of_tokens(const Tokenizer& tokenizer, const TextTokens& read) {
  const auto first = static_cast<size_t>(read.begin);
  std::string text = tokenizer.decode(std::span(read.tokens).first(first));
  int64_t place = std::accumulate(read.bytes.begin(), read.bytes.begin() + read.begin, int64_t{0});
  std::vector<TokenText> texts;
  for (size_t i = first; i < read.tokens.size(); place += read.bytes[i++]) {
    const size_t before = text.size();
    const bool is_unknown = read.tokens[i] == tokenizer.info().unknown_token;
    if (is_unknown) {
      const std::string_view source = read.text;
      const auto at = static_cast<size_t>(place);
      const bool stands_apart = !text.empty() && ends_with_white_space(source.substr(0, at));
      if (stands_apart && !ends_with_white_space(text)) text += ' ';
      text += source.substr(at, static_cast<size_t>(read.bytes[i]));
    } else {
      tokenizer.decode_onto(read.tokens[i], text);
    }
    texts.push_back({.added = text.substr(before), .is_unknown = is_unknown});
  }
  return texts;
}

}  // namespace segue

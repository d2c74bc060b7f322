// Leftmost and longest matches, one after another.
#include "data_pipeline/tokenizer/subword/added_tokens.h"

#include <algorithm>

#include "base/utf8.h"
#include "data_pipeline/tokenizer/subword/unicode_data.h"

namespace segue {
namespace {

size_t character_begin_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && continues_character(text[at])) --at;
  return at;
}

size_t white_space_begin(std::string_view text, size_t end) {
  while (end > 0) {
    const size_t at = character_begin_before(text, end);
    if (!is_white_space(decode_character(text, at))) break;
    end = at;
  }
  return end;
}

size_t white_space_end(std::string_view text, size_t at) {
  while (at < text.size() && is_white_space(decode_character(text, at))) at += character_size(text[at]);
  return at;
}

}  // namespace

void AddedTokens::add(const AddedToken& token, std::string_view searched) {
  if (searched.empty()) return;
  trie_.insert(searched, std::ssize(tokens_));
  tokens_.push_back(token);
  longest_ = std::max(longest_, searched.size());
}

bool AddedTokens::is_found(std::string_view text, const AddedToken& token, const Found& match) const {
  if (token.special && !finds_special_) return false;
  if (!token.single_word) return true;
  const auto is_word_at = [&](size_t at) { return is_word_character(decode_character(text, at)); };
  const bool goes_on_left = match.begin > 0 && is_word_at(character_begin_before(text, match.begin));
  const bool goes_on_right = match.end < text.size() && is_word_at(match.end);
  return !goes_on_left && !goes_on_right;
}

std::vector<Piece> AddedTokens::find(std::string_view text) const {
  std::vector<Piece> pieces;
  size_t done = 0;
  const auto take = [&](size_t begin, size_t end, int64_t token) {
    if (begin < end || token >= 0) pieces.push_back({.begin = begin, .end = end, .token = token});
    done = end;
  };
  for (size_t at = 0; !tokens_.empty() && at < text.size();) {
    const ByteTrie::Match longest = trie_.longest_prefix(text.substr(at));
    if (longest.length == 0) {
      at += character_size(text[at]);
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(longest.value)];
    Found match{at, at + longest.length};
    at = match.end;
    if (!is_found(text, token, match)) continue;
    if (token.lstrip) match.begin = std::max(white_space_begin(text, match.begin), done);
    if (token.rstrip) match.end = white_space_end(text, match.end);
    if (match.begin < done) match.begin = done;  // white space of the token before it
    take(done, match.begin, -1);
    take(match.begin, std::max(match.begin, match.end), token.token);
  }
  take(done, text.size(), -1);
  return pieces;
}

}  // namespace segue

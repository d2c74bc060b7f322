// Tokens by number and by text.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/tokenizer/word_table.h"

namespace segue {

// More than any vocabulary in use, and few enough to hold a table of them.
constexpr int64_t kMostSubwordTokens = int64_t{1} << 22;
constexpr int64_t kMostSubwordBytes = int64_t{8} << 20;  // of all tokens together

class SubwordVocabulary {
 public:
  // False where the text or the number is taken.
  bool add(int64_t token, std::string_view text) {
    const auto at = static_cast<size_t>(token);
    if (at >= word_of_token_.size()) word_of_token_.resize(at + 1, -1);
    if (word_of_token_[at] >= 0 || words_.find(text) >= 0) return false;
    word_of_token_[at] = words_.add(text);
    bytes_ += std::ssize(text);
    token_of_word_.push_back(token);
    return true;
  }
  int64_t find(std::string_view text) const {  // -1: it has none
    const int64_t word = words_.find(text);
    return word < 0 ? -1 : token_of_word_[static_cast<size_t>(word)];
  }
  bool has(int64_t token) const { return token >= 0 && token < size() && word_of(token) >= 0; }
  std::string_view text(int64_t token) const { return words_.word(word_of(token)); }  // of one that it has
  int64_t size() const { return static_cast<int64_t>(word_of_token_.size()); }        // the largest token, plus 1
  int64_t bytes() const { return bytes_; }                                            // of all tokens together
  int64_t count() const { return static_cast<int64_t>(token_of_word_.size()); }

 private:
  int64_t word_of(int64_t token) const { return word_of_token_[static_cast<size_t>(token)]; }

  WordTable words_;
  int64_t bytes_ = 0;
  std::vector<int64_t> token_of_word_;
  std::vector<int64_t> word_of_token_;  // -1: there is no such token
};

}  // namespace segue

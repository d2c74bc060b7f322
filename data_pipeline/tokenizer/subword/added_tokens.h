// Tokens that text is searched for before a model sees it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/tokenizer/subword/byte_trie.h"
#include "data_pipeline/tokenizer/subword/subword_text.h"

namespace segue {

struct AddedToken {
  std::string content;
  int64_t token = -1;
  bool single_word = false;  // only where no word goes on at either end
  bool lstrip = false;       // with the white space before it
  bool rstrip = false;
  bool normalized = true;  // searched for in normalised text
  bool special = false;
};

class AddedTokens {
 public:
  // Special tokens that are not asked for are text.
  explicit AddedTokens(bool finds_special) : finds_special_(finds_special) {}
  void add(const AddedToken& token, std::string_view searched);  // `searched`: as it stands in the text
  bool empty() const { return tokens_.empty(); }
  size_t longest() const { return longest_; }  // bytes

  // The text as a row of pieces; those without a token lie between tokens that were found, the longest at each place.
  std::vector<Piece> find(std::string_view text) const;

 private:
  struct Found {
    size_t begin = 0;
    size_t end = 0;
  };
  bool is_found(std::string_view text, const AddedToken& token, const Found& match) const;

  bool finds_special_;
  std::vector<AddedToken> tokens_;
  ByteTrie trie_;
  size_t longest_ = 0;
};

}  // namespace segue

// A text as its tokens, with the text that each token adds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

// A text's tokens after those of its context, whose last word may go on in the text.
struct TextTokens {
  std::string source = {};  // of the text, for messages
  std::string text = {};    // of the context and what follows it
  std::vector<int32_t> tokens = {};
  std::vector<int32_t> bytes = {};  // of text that each stands for
  int64_t begin = 0;                // of the text's

  // The first token is read: nothing could foretell it.
  int64_t known() const { return std::max<int64_t>(1, begin); }
};

struct TokenText {
  std::string added = {};   // to the text of the tokens before it
  bool is_unknown = false;  // to the vocabulary: added as it stands in the text
};

// Of the tokens from number `begin` on.
std::vector<TokenText> texts_of_tokens(const Tokenizer& tokenizer, const TextTokens& read);

}  // namespace segue

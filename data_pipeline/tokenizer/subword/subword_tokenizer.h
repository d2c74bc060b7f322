// A tokenizer made of the steps of a pipeline, for files of any length on all processors.
//
// A file is encoded as one text, in parts of about 256 KiB that threads take one by one. A part ends only where its
// surroundings, encoded together, give the same pieces as encoded apart; without such a place in 4 MiB it ends anyway.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data_pipeline/tokenizer/subword/subword_pipeline.h"
#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

// The bytes of every token, one behind another.
class TokenTexts {
 public:
  void add(std::string_view text) {
    bytes_ += text;
    ends_.push_back(bytes_.size());
  }
  std::string_view text(int64_t token) const {
    const auto at = static_cast<size_t>(token);
    const size_t begin = at == 0 ? 0 : ends_[at - 1];
    return std::string_view(bytes_).substr(begin, ends_[at] - begin);
  }
  int64_t size() const { return std::ssize(ends_); }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

// What a tokenizer's file says.
struct SubwordParts {
  explicit SubwordParts(bool finds_special) : pipeline(finds_special) {}
  SubwordVocabulary vocabulary;  // of the model, which refers to it
  SubwordPipeline pipeline;
  TokenTexts texts;
  bool drops_first_space = false;  // of the first token of a decoded text
};

std::unique_ptr<Tokenizer> make_subword_tokenizer(std::unique_ptr<SubwordParts> parts, const TokenizerInfo& info,
                                                  std::string file_text);

}  // namespace segue

// Text through a tokenizer, in one piece or many.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data_pipeline/tokenizer/tokenizer.h"
#include "tests/message_of.h"

namespace segue {

// Gives `text` to the sink as one file of one split, in pieces of `piece` bytes.
inline void feed(TextSink& sink, std::string_view text, size_t piece = std::string_view::npos) {
  sink.begin_file("text", 0);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) sink.append(text.substr(0, piece));
  sink.end_file();
  sink.end_split();
}

inline std::unique_ptr<Tokenizer> learned(std::unique_ptr<TokenizerLearner> learner, std::string_view text,
                                          size_t piece = std::string_view::npos) {
  feed(*learner, text, piece);
  return learner->finish();
}

inline std::vector<int32_t> encoded(const Tokenizer& tokenizer, std::string_view text,
                                    size_t piece = std::string_view::npos) {
  const std::unique_ptr<Encoder> encoder = tokenizer.make_encoder();
  feed(*encoder, text, piece);
  return {encoder->tokens().begin(), encoder->tokens().end()};
}

// Stored and made again.
inline std::unique_ptr<Tokenizer> reloaded(const Tokenizer& tokenizer) {
  return load_tokenizer(tokenizer.info(), tokenizer.file_text(), "stored");
}

}  // namespace segue

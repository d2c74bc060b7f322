// The text of a sample as its tokens come, up to a stop string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

class SampleText {
 public:
  // `before` is the text the sample continues; an empty `stop` stops nowhere. The tokenizer outlives this.
  SampleText(const Tokenizer& tokenizer, std::string before, std::string stop);

  // Takes in a token, and returns what of the text can be shown since the last call: what may yet turn out to be the
  // beginning of the stop string is held back. Valid until the next call.
  std::string_view add(int32_t token);
  // The text held back, at the end.
  std::string_view rest();

  bool is_stopped() const { return stopped_; }  // the stop string came; it is not part of the text
  std::string_view text() const { return std::string_view(text_).substr(begin_); }

 private:
  std::string_view show_until(size_t end);

  const Tokenizer& tokenizer_;
  std::string stop_;
  std::string text_;
  size_t begin_;  // of what the sample adds to the text before it
  size_t shown_;
  bool stopped_ = false;
};

}  // namespace segue

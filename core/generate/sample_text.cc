// Searches the stop string where new text could have completed it.
#include "core/generate/sample_text.h"

#include <algorithm>
#include <utility>

namespace segue {

namespace {

// How many of the last characters of `text` are the beginning of `word`, all of it excluded.
size_t begun(std::string_view text, std::string_view word) {
  size_t count = std::min(text.size(), word.empty() ? 0 : word.size() - 1);
  while (count > 0 && text.substr(text.size() - count) != word.substr(0, count)) --count;
  return count;
}

}  // namespace

SampleText::SampleText(const Tokenizer& tokenizer, std::string before, std::string stop)
    : tokenizer_(tokenizer),
      stop_(std::move(stop)),
      text_(std::move(before)),
      begin_(text_.size()),
      shown_(text_.size()) {}

std::string_view SampleText::add(int32_t token) {
  if (stopped_) return {};
  tokenizer_.decode_onto(token, text_);
  if (!stop_.empty()) {
    if (const size_t at = text_.find(stop_, shown_); at != std::string::npos) {
      stopped_ = true;
      text_.resize(at);
      return show_until(at);
    }
  }
  return show_until(text_.size() - begun(std::string_view(text_).substr(shown_), stop_));
}

std::string_view SampleText::rest() { return show_until(text_.size()); }

std::string_view SampleText::show_until(size_t end) {
  const size_t from = std::exchange(shown_, end);
  return std::string_view(text_).substr(from, end - from);
}

}  // namespace segue

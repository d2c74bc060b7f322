// The window moves when a row outside it is asked for.
#include "data_pipeline/token_window.h"

#include <algorithm>

namespace segue {

TokenWindow::TokenWindow(int64_t begin, int64_t end, int64_t capacity)
    : begin_(begin), rows_(end - begin), tokens_(static_cast<size_t>(std::min(capacity, rows_))) {}

TokenRows TokenWindow::read(TokenSource& source, int64_t row, int64_t count) {
  if (row < held_row_ || row + count > held_row_ + held_) {
    held_ = 0;  // so that a failed read leaves nothing behind
    const int64_t length = std::min(static_cast<int64_t>(tokens_.size()), rows_ - row);
    source.read(begin_ + row, std::span(tokens_).first(static_cast<size_t>(length)));
    marks_.resize(source.has_marks() ? tokens_.size() : 0);
    if (source.has_marks()) source.read_marks(begin_ + row, std::span(marks_).first(static_cast<size_t>(length)));
    bytes_.resize(source.has_bytes() ? tokens_.size() : 0);
    if (source.has_bytes()) source.read_bytes(begin_ + row, std::span(bytes_).first(static_cast<size_t>(length)));
    held_row_ = row;
    held_ = length;
  }
  const auto first = static_cast<size_t>(row - held_row_);
  const auto rows = static_cast<size_t>(count);
  TokenRows found{.tokens = std::span<const int32_t>(tokens_).subspan(first, rows)};
  if (!marks_.empty()) found.marks = std::span<const TokenMark>(marks_).subspan(first, rows);
  if (!bytes_.empty()) found.bytes = std::span<const int32_t>(bytes_).subspan(first, rows);
  return found;
}

}  // namespace segue

// The window moves when a row outside it is asked for.
#include "data_pipeline/token_window.h"

#include <algorithm>

namespace segue {

TokenWindow::TokenWindow(int64_t begin, int64_t end, int64_t capacity)
    : begin_(begin), rows_(end - begin), tokens_(static_cast<size_t>(std::min(capacity, rows_))) {}

std::span<const int32_t> TokenWindow::read(TokenSource& source, int64_t row, int64_t count) {
  if (row < held_row_ || row + count > held_row_ + held_) {
    held_ = 0;  // so that a failed read leaves nothing behind
    const int64_t length = std::min(static_cast<int64_t>(tokens_.size()), rows_ - row);
    source.read(begin_ + row, std::span(tokens_).first(static_cast<size_t>(length)));
    held_row_ = row;
    held_ = length;
  }
  return std::span<const int32_t>(tokens_).subspan(static_cast<size_t>(row - held_row_), static_cast<size_t>(count));
}

}  // namespace segue

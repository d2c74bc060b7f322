// A table for a terminal: columns as wide as what is in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace segue {

// What every terminal shows without breaking lines.
inline constexpr int64_t kTerminalColumns = 80;

struct TextColumn {
  std::string head;
  std::vector<std::string> cells;  // of every row
  bool is_text = false;            // begins at the left; numbers end at the right
};

// Lines of UTF-8 text, each character of which is taken to be one column wide. Where they would be wider than a
// terminal, the columns that do not fit follow below, beside the first one again, and so on.
std::string text_table(const std::vector<TextColumn>& columns);

// A line of a list: what it is about, and beside it what is said of that, on as many lines as a terminal needs.
std::string explained(std::string_view label, std::string_view text);

}  // namespace segue

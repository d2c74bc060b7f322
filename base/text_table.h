// A table for a terminal: columns as wide as what is in them.
#pragma once

#include <string>
#include <vector>

namespace segue {

struct TextColumn {
  std::string head;
  std::vector<std::string> cells;  // of every row
  bool is_text = false;            // begins at the left; numbers end at the right
};

// Lines of UTF-8 text, each character of which is taken to be one column wide.
std::string text_table(const std::vector<TextColumn>& columns);

}  // namespace segue

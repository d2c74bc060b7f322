// Tables of the page, with numbers set under each other.
#pragma once

#include <string>
#include <vector>

namespace segue::report {

struct Table {
  std::vector<std::string> head = {};
  std::vector<std::vector<std::string>> rows = {};  // plain text; the first cell names the row
  bool is_of_words = false;                         // not of numbers, which are set under each other
  std::string title = {};                           // above it; none where what stands around it says what it is
};

std::string table_html(const Table& table);

}  // namespace segue::report

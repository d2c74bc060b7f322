#include "base/text_table.h"

#include <algorithm>
#include <string_view>

#include "base/utf8.h"

namespace segue {
namespace {

constexpr std::string_view kGap = "  ";

size_t shown_width(std::string_view text) { return static_cast<size_t>(columns_of_text(text)); }

size_t width_of(const TextColumn& column) {
  size_t width = shown_width(column.head);
  for (const std::string& cell : column.cells) width = std::max(width, shown_width(cell));
  return width;
}

}  // namespace

std::string text_table(const std::vector<TextColumn>& columns) {
  const size_t rows = columns.empty() ? 0 : columns.front().cells.size();
  std::vector<std::string> lines(rows + 1);
  for (const TextColumn& column : columns) {
    const size_t width = width_of(column);
    for (size_t i = 0; i <= rows; ++i) {
      const std::string& cell = i == 0 ? column.head : column.cells[i - 1];
      const std::string padding(width - shown_width(cell), ' ');
      lines[i] += std::string(&column == &columns.front() ? "" : kGap);
      lines[i] += column.is_text ? cell + padding : padding + cell;
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return text;
}

}  // namespace segue

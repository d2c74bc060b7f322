#include "base/text_table.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"

namespace segue {
namespace {

constexpr std::string_view kGap = "  ";

size_t shown_width(std::string_view text) { return static_cast<size_t>(columns_of_text(text)); }

using Part = std::vector<const TextColumn*>;

size_t width_of(const TextColumn& column) {
  size_t width = shown_width(column.head);
  for (const std::string& cell : column.cells) width = std::max(width, shown_width(cell));
  return width;
}

std::string lines_of(const Part& part) {
  const size_t rows = part.front()->cells.size();
  std::vector<std::string> lines(rows + 1);
  for (const TextColumn* const column : part) {
    const size_t width = width_of(*column);
    for (size_t i = 0; i <= rows; ++i) {
      const std::string& cell = i == 0 ? column->head : column->cells[i - 1];
      const std::string padding(width - shown_width(cell), ' ');
      lines[i] += std::string(column == part.front() ? "" : kGap);
      lines[i] += column->is_text ? cell + padding : padding + cell;
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return text;
}

// Each begins with the first column.
std::vector<Part> parts_of(const std::vector<TextColumn>& columns) {
  std::vector<Part> parts;
  size_t width = 0;
  for (const TextColumn& column : columns) {
    const size_t added = width_of(column) + kGap.size();
    if (parts.empty()) {
      parts.push_back({&column});
      width = width_of(column);
    } else if (parts.back().size() > 1 && width + added > kTerminalColumns) {
      parts.push_back({&columns.front(), &column});
      width = width_of(columns.front()) + added;
    } else {
      parts.back().push_back(&column);
      width += added;
    }
  }
  return parts;
}

}  // namespace

std::string text_table(const std::vector<TextColumn>& columns) {
  std::string text;
  for (const Part& part : parts_of(columns)) {
    if (!text.empty()) text += '\n';
    text += lines_of(part);
  }
  return text;
}

std::string explained(std::string_view label, std::string_view text) {
  constexpr int64_t kLabelColumns = 39;
  std::string lines(label);
  lines.append(static_cast<size_t>(std::max(kLabelColumns - columns_of_text(label), int64_t{1})), ' ');
  const std::string said = wrapped(text, kTerminalColumns - kLabelColumns);
  for (size_t i = 0; i < said.size(); ++i) {
    lines += said[i];
    if (said[i] == '\n' && i + 1 < said.size()) lines.append(kLabelColumns, ' ');
  }
  return lines;
}

}  // namespace segue

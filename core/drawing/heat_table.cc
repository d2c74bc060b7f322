// Shades are classes q1 to q8 of the style sheet; the share stands in the cell too.
#include "core/drawing/heat_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/drawing/markup.h"
#include "core/drawing/numbers.h"

namespace segue::report {

namespace {

constexpr int64_t kShades = 8;

std::string cell_html(const std::optional<double>& share) {
  if (!share || !std::isfinite(*share)) return "<td>\xE2\x80\x93</td>";
  const auto shade =
      std::clamp(std::llround(*share * static_cast<double>(kShades)), 0LL, static_cast<long long>(kShades));
  const std::string name = shade == 0 ? "" : fmt::format(" class=\"q{}\"", shade);
  return fmt::format("<td{}>{} %</td>", name, fixed(100.0 * *share, 1));
}

}  // namespace

bool reads_as(const HeatTable::Row& a, const HeatTable::Row& b) {
  return std::ranges::equal(a.shares, b.shares, {}, cell_html, cell_html);
}

std::string heat_table_html(const HeatTable& table) {
  std::string html = table.title.empty() ? "" : "<h3>" + escaped(table.title) + "</h3>\n";
  html +=
      "<div class=\"scroll\"><table class=\"heat\">\n<thead><tr><th scope=\"col\">" + escaped(table.corner) + "</th>";
  for (const std::string& name : table.columns) html += "<th scope=\"col\">" + escaped(name) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const HeatTable::Row& row : table.rows) {
    html += "<tr><th scope=\"row\">" + escaped(row.name) + "</th>";
    for (const std::optional<double>& share : row.shares) html += cell_html(share);
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n";
}

}  // namespace segue::report

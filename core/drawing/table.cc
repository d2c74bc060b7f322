#include "core/drawing/table.h"

#include "core/drawing/markup.h"

namespace segue::report {

std::string table_html(const Table& table) {
  std::string html =
      table.is_of_words ? "<div class=\"scroll\"><table class=\"words\">\n" : "<div class=\"scroll\"><table>\n";
  if (!table.title.empty()) html += "<caption>" + escaped(table.title) + "</caption>\n";
  html += "<thead><tr>";
  for (const std::string& name : table.head) html += "<th scope=\"col\">" + escaped(name) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      html += (i == 0 ? "<th scope=\"row\">" : "<td>") + escaped(row[i]) + (i == 0 ? "</th>" : "</td>");
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n";
}

}  // namespace segue::report

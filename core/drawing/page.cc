#include "core/drawing/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/drawing/markup.h"
#include "core/drawing/style.h"

namespace segue::report {

namespace {

std::string draw_chart(const Chart& chart, const Canvas& canvas) {
  return std::visit([&](const auto& drawn) { return draw(drawn, canvas); }, chart);
}

std::string chart_name(const Chart& chart) {
  return std::visit([](const auto& drawn) { return drawn.name; }, chart);
}

// A chart that has the width of the page to itself, as one of panels must, is drawn twice, and the style sheet shows
// the one that fits.
std::string charts_html(const std::vector<Chart>& charts) {
  const auto needs_page = [](const Chart& chart) {
    const Plot* plot = std::get_if<Plot>(&chart);
    return plot != nullptr && is_in_panels(*plot);
  };
  const bool is_pair = charts.size() > 1 && std::none_of(charts.begin(), charts.end(), needs_page);
  std::string html;
  for (const Chart& chart : charts) {
    const std::string narrow = draw_chart(chart, {.width = Width::kNarrow, .ink = Ink::kPage});
    if (is_pair) {
      html += "<div>\n" + narrow + "</div>\n";
      continue;
    }
    html += "<div class=\"wide\">\n" + draw_chart(chart, {.width = Width::kWide, .ink = Ink::kPage}) + "</div>\n";
    html += "<div class=\"narrow\">\n" + narrow + "</div>\n";
  }
  return is_pair ? "<div class=\"pair\">\n" + html + "</div>\n" : html;
}

}  // namespace

void Page::section(std::string_view id, std::string_view title) {
  body_ +=
      fmt::format("{}<section id=\"{}\">\n<h2>{}</h2>\n", headings_.empty() ? "" : "</section>\n", id, escaped(title));
  headings_.push_back({std::string(id), std::string(title)});
}

void Page::paragraph(std::string_view text) { body_ += "<p>" + escaped(text) + "</p>\n"; }

void Page::missing(std::string_view what, std::string_view command) {
  body_ += fmt::format("<p class=\"missing\">{} <code>{}</code></p>\n", escaped(what), escaped(command));
}

void Page::figure(const Figure& figure) {
  ++figures_;
  body_ += fmt::format("<figure id=\"figure-{0}\">\n{1}<figcaption><b>Figure {0}.</b> {2}</figcaption>\n", figures_,
                       charts_html(figure.charts) + figure.html, escaped(figure.caption));
  if (!figure.table.rows.empty()) {
    const std::string note = figure.table_note.empty() ? "" : "<p>" + escaped(figure.table_note) + "</p>\n";
    details(figure.table_name, note + table_html(figure.table));
  }
  body_ += "</figure>\n";
  for (const Chart& chart : figure.charts)
    drawings_.push_back({chart_name(chart) + ".svg", draw_chart(chart, {.width = Width::kWide, .ink = Ink::kPaper})});
}

void Page::details(std::string_view summary, std::string_view html) {
  body_ += fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped(summary), html);
}

std::string Page::contents() const {
  std::string html = "<nav aria-label=\"Contents\">\n";
  for (const Heading& heading : headings_)
    html += fmt::format("<a href=\"#{}\">{}</a>\n", heading.id, escaped(heading.title));
  return html + "</nav>\n";
}

std::string Page::finish() const {
  const std::string refresh = head_.refresh_seconds > 0
                                  ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", head_.refresh_seconds)
                                  : "";
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" + refresh;
  html += fmt::format("<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n", escaped(head_.title), style_sheet());
  html += fmt::format("<header>\n<p class=\"kicker\">{}</p>\n<h1>{}</h1>\n<p class=\"summary\">{}</p>\n",
                      escaped(head_.kicker), escaped(head_.title), escaped(head_.summary));
  html += contents() + "</header>\n<main>\n" + body_ + (headings_.empty() ? "" : "</section>\n");
  return html + fmt::format("</main>\n<footer>Made by {} from the files of the runs.</footer>\n</body>\n</html>\n",
                            escaped(head_.made_by));
}

}  // namespace segue::report

// SVG text, one decimal of a pixel.
#include "core/drawing/svg.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "core/drawing/markup.h"

namespace segue::report {

namespace {

constexpr const char* kPageFont = "inherit";
constexpr const char* kPaperFont = "Helvetica,Arial,sans-serif";

std::string number(double value) {
  if (!std::isfinite(value)) throw ContractError("a coordinate of a drawing is {}", value);
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string path_data(const std::vector<Place>& places) {
  std::string data;
  for (size_t i = 0; i < places.size(); ++i)
    data += fmt::format("{}{} {}", i == 0 ? "M" : "L", number(places[i].x), number(places[i].y));
  return data;
}

std::string dash_style(std::string_view dash) { return dash.empty() ? "" : fmt::format(";stroke-dasharray:{}", dash); }

// Around the origin; all about as large to the eye.
std::vector<Place> corners_of(int64_t shape, double size) {
  switch (shape % 4) {
    case 1:
      return {
          {-0.9 * size, -0.9 * size}, {0.9 * size, -0.9 * size}, {0.9 * size, 0.9 * size}, {-0.9 * size, 0.9 * size}};
    case 2:
      return {{0, -1.25 * size}, {1.15 * size, 0.85 * size}, {-1.15 * size, 0.85 * size}};
    default:
      return {{0, -1.35 * size}, {1.35 * size, 0}, {0, 1.35 * size}, {-1.35 * size, 0}};
  }
}

const char* anchor_name(Anchor anchor) {
  if (anchor == Anchor::kMiddle) return "middle";
  return anchor == Anchor::kEnd ? "end" : "start";
}

}  // namespace

Svg::Svg(double width, double height, Ink ink, std::string_view title) : ink_(ink) {
  const bool is_page = ink == Ink::kPage;
  const std::string file = fmt::format(R"( xmlns="http://www.w3.org/2000/svg" width="{}" height="{}")", width, height);
  content_ = fmt::format("<svg{} viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" style=\"font-family:{}\">\n",
                         is_page ? "" : file, width, height, escaped(title), is_page ? kPageFont : kPaperFont);
}

void Svg::line(Place from, Place to, const std::string& colour, double width, std::string_view dash) {
  content_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" style=\"stroke:{};stroke-width:{}{}\"/>\n",
                          number(from.x), number(from.y), number(to.x), number(to.y), colour, width, dash_style(dash));
}

void Svg::path(const std::vector<Place>& places, const std::string& colour, double width, std::string_view dash,
               double opacity) {
  if (places.size() < 2) return;
  content_ += fmt::format(
      "<path d=\"{}\" "
      "style=\"fill:none;stroke:{};stroke-width:{};stroke-linejoin:round;stroke-linecap:round;opacity:{}{}\"/>\n",
      path_data(places), colour, width, opacity, dash_style(dash));
}

void Svg::area(const std::vector<Place>& outline, const std::string& colour, double opacity) {
  areas({outline}, colour, opacity);
}

void Svg::areas(const std::vector<std::vector<Place>>& outlines, const std::string& colour, double opacity) {
  std::string data;
  for (const std::vector<Place>& outline : outlines)
    if (outline.size() >= 3) data += path_data(outline) + "Z";
  if (!data.empty()) content_ += fmt::format("<path d=\"{}\" style=\"fill:{};opacity:{}\"/>\n", data, colour, opacity);
}

void Svg::rectangle(Place corner, double width, double height, const std::string& colour, std::string_view title) {
  content_ += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\" style=\"fill:{}\"><title>{}</title></rect>\n",
      number(corner.x), number(corner.y), number(width), number(height), colour, escaped(title));
}

void Svg::marker(Place place, int64_t shape, double size, const std::string& colour) {
  const std::string style =
      fmt::format("fill:{};stroke:{};stroke-width:1", colour, segue::report::colour(Tone::kBackground, ink_));
  if (shape % 4 == 0) {
    content_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" style=\"{}\"/>\n", number(place.x), number(place.y),
                            number(size), style);
    return;
  }
  std::vector<Place> corners = corners_of(shape, size);
  for (Place& corner : corners) corner = {corner.x + place.x, corner.y + place.y};
  content_ += fmt::format("<path d=\"{}Z\" style=\"{}\"/>\n", path_data(corners), style);
}

void Svg::ring(Place place, double size, const std::string& colour) {
  content_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" style=\"fill:none;stroke:{};stroke-width:1.25\"/>\n",
                          number(place.x), number(place.y), number(size), colour);
}

void Svg::hover(Place place, const std::string& colour, std::string_view title) {
  content_ += fmt::format(
      "<circle class=\"hover\" cx=\"{}\" cy=\"{}\" r=\"6\" style=\"fill:{};opacity:0\"><title>{}</title></circle>\n",
      number(place.x), number(place.y), colour, escaped(title));
}

void Svg::text(Place place, std::string_view content, const TextStyle& style) {
  const std::string halo = fmt::format(";paint-order:stroke;stroke:{};stroke-width:4px;stroke-linejoin:round",
                                       segue::report::colour(Tone::kBackground, ink_));
  content_ += fmt::format("<text x=\"{}\" y=\"{}\" style=\"font-size:{}px;text-anchor:{};fill:{}{}\">{}</text>\n",
                          number(place.x), number(place.y), style.size, anchor_name(style.anchor),
                          colour(style.tone, ink_), style.is_over_lines ? halo : "", escaped(content));
}

std::string Svg::finish() { return std::move(content_) + "</svg>\n"; }

}  // namespace segue::report

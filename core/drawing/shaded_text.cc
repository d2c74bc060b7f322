// Shades are classes of the style sheet: h1 to h8 for losses, p1 to p4 and n1 to n4 for differences.
#include "core/drawing/shaded_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/drawing/markup.h"

namespace segue::report {

namespace {

constexpr int64_t kLossShades = 8;
constexpr int64_t kDifferenceShades = 4;

// 0: none.
int64_t shade_of(double share, int64_t shades) {
  if (!std::isfinite(share)) return 0;
  return std::clamp(static_cast<int64_t>(std::floor(std::min(share, 1.0) * static_cast<double>(shades) + 0.5)),
                    int64_t{0}, shades);
}

std::string loss_class(double share) {
  const int64_t shade = shade_of(share, kLossShades);
  return shade == 0 ? "" : fmt::format("h{}", shade);
}

std::string difference_class(double share) {
  const int64_t shade = shade_of(std::abs(share), kDifferenceShades);
  return shade == 0 ? "" : fmt::format("{}{}", share > 0.0 ? 'p' : 'n', shade);
}

// Ends of lines are seen, since they are tokens too.
std::string text_html(std::string_view text) {
  std::string html = escaped(text);
  for (size_t at = html.find('\n'); at != std::string::npos; at = html.find('\n', at)) {
    constexpr std::string_view kSign = "<i>\xE2\x86\xB5</i>";
    html.insert(at, kSign);
    at += kSign.size() + 1;
  }
  return html;
}

std::string token_html(const ShadedToken& token, const std::string& shade) {
  const std::string text = text_html(token.text);
  const std::string title = token.title.empty() ? "" : " title=\"" + escaped(token.title) + "\"";
  const std::string name = shade.empty() ? "" : " class=\"" + shade + "\"";
  return "<span" + name + title + ">" + text + "</span>";
}

template <typename ClassOf>
std::string tokens_html(const std::vector<ShadedToken>& tokens, double deepest, ClassOf class_of) {
  std::string html = "<div class=\"shaded\">";
  for (const ShadedToken& token : tokens)
    html += token_html(token, token.value ? class_of(*token.value / deepest) : "");
  return html + "</div>\n";
}

std::string key_swatch(const std::string& shade) { return fmt::format("<span class=\"{}\"></span>", shade); }

}  // namespace

std::string losses_html(const std::vector<ShadedToken>& tokens, double deepest) {
  std::string key = "<div class=\"key\">0 bits ";
  for (int64_t shade = 1; shade <= kLossShades; ++shade) key += key_swatch(fmt::format("h{}", shade));
  return key + fmt::format(" {:g} bits and more</div>\n", deepest) + tokens_html(tokens, deepest, loss_class);
}

std::string differences_html(const std::vector<ShadedToken>& tokens, double deepest) {
  std::string key = fmt::format("<div class=\"key\">memory hurt by {:g} {} ", deepest, deepest == 1.0 ? "bit" : "bits");
  for (int64_t shade = kDifferenceShades; shade >= 1; --shade) key += key_swatch(fmt::format("n{}", shade));
  key += " 0 ";
  for (int64_t shade = 1; shade <= kDifferenceShades; ++shade) key += key_swatch(fmt::format("p{}", shade));
  return key + fmt::format(" helped by {:g} bits</div>\n", deepest) + tokens_html(tokens, deepest, difference_class);
}

double deepest_of(const std::vector<ShadedToken>& tokens) {
  std::vector<double> sizes;
  for (const ShadedToken& token : tokens) {
    if (token.value && std::isfinite(*token.value)) sizes.push_back(std::abs(*token.value));
  }
  if (sizes.empty()) return 1.0;
  const auto place = sizes.begin() + std::ssize(sizes) * 19 / 20;
  std::nth_element(sizes.begin(), place, sizes.end());
  constexpr double kLeast = 0.5;
  const double bits = std::clamp(*place, kLeast, 64.0);
  return bits < 2.0 ? std::ceil(4.0 * bits) / 4.0 : std::ceil(bits);
}

}  // namespace segue::report

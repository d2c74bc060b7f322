#include "core/drawing/palette.h"

#include <fmt/format.h>

#include <array>

namespace segue::report {

namespace {

struct Scheme {
  std::array<const char*, 4> tones;  // in the order of Tone
  std::array<const char*, kSeriesColours> series;
};

constexpr std::array<const char*, 4> kToneNames{"text", "quiet", "line", "background"};

constexpr Scheme kLight{.tones = {"#1b1f24", "#5c6670", "#e3e6ea", "#ffffff"},
                        .series = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#30363d"}};
constexpr Scheme kDark{.tones = {"#e6e8eb", "#9aa4af", "#2b3138", "#14171b"},
                       .series = {"#3f97d8", "#ee6f2d", "#4fd0a5", "#d58bbd", "#f2c14e", "#9ad4fb", "#e6e8eb"}};

size_t colour_index(int64_t series) { return static_cast<size_t>(series % kSeriesColours); }

std::string variables(const Scheme& scheme) {
  std::string text;
  for (size_t i = 0; i < scheme.tones.size(); ++i)
    text += fmt::format("--{}:{};", kToneNames.at(i), scheme.tones.at(i));
  for (size_t i = 0; i < scheme.series.size(); ++i) text += fmt::format("--series-{}:{};", i, scheme.series.at(i));
  return text;
}

}  // namespace

std::string colour(Tone tone, Ink ink) {
  const auto index = static_cast<size_t>(tone);
  return ink == Ink::kPage ? fmt::format("var(--{})", kToneNames.at(index)) : kLight.tones.at(index);
}

std::string series_colour(int64_t series, Ink ink) {
  const size_t index = colour_index(series);
  return ink == Ink::kPage ? fmt::format("var(--series-{})", index) : kLight.series.at(index);
}

std::string dash_of(int64_t series) {
  constexpr std::array<const char*, 3> kDashes{"", "7 4", "2 3"};
  return kDashes.at(static_cast<size_t>(series / kSeriesColours) % kDashes.size());
}

std::string light_variables() { return variables(kLight); }

std::string dark_variables() { return variables(kDark); }

}  // namespace segue::report

// Colours: by name on the page, where style sheets choose light or dark; as they are in files for papers.
#pragma once

#include <cstdint>
#include <string>

namespace segue::report {

enum class Ink : uint8_t { kPage, kPaper };
enum class Tone : uint8_t { kText, kQuiet, kLine, kBackground };

// For `style` attributes: "var(--quiet)" or "#5b6470".
std::string colour(Tone tone, Ink ink);

inline constexpr int64_t kSeriesColours = 7;

// The colour of the n-th series: seven that colour-blind people can tell apart (after Okabe and Ito); then the same
// ones again, for which dash_of and marker_of take turns.
std::string series_colour(int64_t series, Ink ink);

// The value of `stroke-dasharray` of the n-th series; empty: solid.
std::string dash_of(int64_t series);

// Definitions of all the names, for the light and the dark scheme: "--text:#1c2024;--quiet:...".
std::string light_variables();
std::string dark_variables();

}  // namespace segue::report

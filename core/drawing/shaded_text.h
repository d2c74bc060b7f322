// Text with every token shaded by a number, and the key to the shades.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace segue::report {

struct ShadedToken {
  std::string text = {};
  std::optional<double> value = {};  // bits; none: not shaded
  std::string title = {};            // when the pointer rests on it
};

// From nothing at 0 to the deepest shade at `deepest` and beyond.
std::string losses_html(const std::vector<ShadedToken>& tokens, double deepest);

// Blue above 0, orange below, the deepest shades from `deepest` on in either direction.
std::string differences_html(const std::vector<ShadedToken>& tokens, double deepest);

// A round number of bits that about one token in twenty is beyond.
double deepest_of(const std::vector<ShadedToken>& tokens);

}  // namespace segue::report

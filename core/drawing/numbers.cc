#include "core/drawing/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace segue::report {

std::string fixed(double value, int decimals) {
  std::string digits = fmt::format("{:.{}f}", value, decimals);
  if (digits.find_first_not_of("-0.") == std::string::npos && digits[0] == '-') digits.erase(0, 1);
  const size_t point = std::min(digits.find('.'), digits.size());
  const int64_t first = digits[0] == '-' ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(point) - 3; at > first; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

std::string significant(double value, int digits) {
  const double size = std::abs(value);
  if (size == 0.0) return "0";
  if (!std::isfinite(value)) return "\xE2\x80\x94";
  if (size < 1e-4 || size >= 1e15) return fmt::format("{:.{}g}", value, digits);
  const int whole = static_cast<int>(std::floor(std::log10(size))) + 1;
  return fixed(value, std::max(0, digits - whole));
}

std::string with_prefix(double value) {
  constexpr std::array<const char*, 5> kPrefixes{"", " k", " M", " G", " T"};
  size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < kPrefixes.size()) {
    value /= 1000.0;
    ++prefix;
  }
  return fmt::format("{:.3g}{}", value, kPrefixes.at(prefix));
}

std::string length_text(double value) { return value == std::floor(value) ? fixed(value, 0) : significant(value, 3); }

int decimals_of(double step) {
  constexpr int kMost = 12;
  int decimals = 0;
  for (double scaled = std::abs(step); decimals < kMost; scaled *= 10.0, ++decimals) {
    if (std::abs(scaled - std::round(scaled)) < 1e-6 * std::max(1.0, scaled) && scaled >= 0.5) return decimals;
  }
  return decimals;
}

}  // namespace segue::report

#include "core/drawing/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "core/drawing/numbers.h"

namespace segue::report {

namespace {

constexpr double kRoundingSlack = 1e-9;  // of a step: the last tick is not lost to the sum of steps
constexpr double kFromPrefix = 10000.0;  // labels beyond carry prefixes
constexpr double kLargest = 1e100;       // what is beyond is no measurement, and its range has no size
constexpr double kSameShare = 1e-9;      // values closer than this are one value to the eye

bool can_show(double value, ScaleKind kind) {
  if (!std::isfinite(value) || std::abs(value) > kLargest) return false;
  if (kind == ScaleKind::kLog) return value > 0.0;
  return kind == ScaleKind::kLinear || value >= 0.0;
}

// One value, with room.
Range around(double value, ScaleKind kind) {
  if (kind != ScaleKind::kLinear) return {value / 2.0, std::max(value * 2.0, 1.0)};
  const double room = value == 0.0 ? 1.0 : std::max(0.05 * std::abs(value), 1.0 / kLargest);
  return {value - room, value + room};
}

double round_step(double raw) {
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= raw * (1.0 - kRoundingSlack)) return factor * power;
  }
  return 10.0 * power;
}

std::string plain_label(double value, double step) {
  const double size = std::abs(value);
  if (size >= kFromPrefix) return with_prefix(value);
  if (size != 0.0 && size < 1e-4) return significant(value, 2);
  return fixed(value, decimals_of(step));
}

// The label of a length: "1,024", "16,384".
std::string length_label(double value) {
  constexpr double kLongest = 1e6;
  return value < kLongest ? length_text(value) : with_prefix(value);
}

std::vector<Tick> linear_ticks(const Range& domain, int64_t wanted) {
  const double step = round_step(domain.size() / static_cast<double>(std::max<int64_t>(wanted, 1)));
  const bool has_prefix = std::max(std::abs(domain.low), std::abs(domain.high)) >= kFromPrefix;
  std::vector<Tick> ticks;
  const auto first = static_cast<int64_t>(std::ceil(domain.low / step - kRoundingSlack));
  const auto last = static_cast<int64_t>(std::floor(domain.high / step + kRoundingSlack));
  for (int64_t i = first; i <= last; ++i) {
    const double value = static_cast<double>(i) * step;
    ticks.push_back({value, has_prefix ? with_prefix(value) : plain_label(value, step)});
  }
  return ticks;
}

std::vector<Tick> decimal_ticks(const Range& domain, std::initializer_list<double> factors, int64_t stride) {
  const auto low = static_cast<int64_t>(std::floor(std::log10(domain.low)));
  const auto high = static_cast<int64_t>(std::ceil(std::log10(domain.high)));
  std::vector<Tick> ticks;
  for (int64_t exponent = low; exponent <= high; exponent += stride) {
    for (const double factor : factors) {
      const double value = factor * std::pow(10.0, static_cast<double>(exponent));
      if (domain.holds(value)) ticks.push_back({value, plain_label(value, value)});
    }
  }
  return ticks;
}

// 1, 2 and 5 times powers of ten, only these powers, or some of them: whatever is not far too many.
std::vector<Tick> decimal_ticks(const Range& domain, int64_t wanted) {
  std::vector<Tick> ticks = decimal_ticks(domain, {1.0, 2.0, 5.0}, 1);
  if (std::ssize(ticks) <= 2 * wanted) return ticks;
  for (int64_t stride = 1;; ++stride) {
    ticks = decimal_ticks(domain, {1.0}, stride);
    if (std::ssize(ticks) <= 2 * wanted || std::ssize(ticks) <= 2) return ticks;
  }
}

std::vector<Tick> binary_ticks(const Range& domain, double smallest, int64_t wanted) {
  std::vector<Tick> ticks;
  if (domain.low <= 0.0) ticks.push_back({0.0, "0"});
  const auto low = static_cast<int64_t>(std::floor(std::log2(std::max(smallest, domain.low))));
  const auto high = static_cast<int64_t>(std::ceil(std::log2(domain.high)));
  const int64_t most = std::max<int64_t>(wanted, 1);
  const int64_t stride = std::max<int64_t>(1, (high - low + most - 1) / most);
  for (int64_t exponent = low; exponent <= high; exponent += stride) {
    const double value = std::exp2(static_cast<double>(exponent));
    if (value >= smallest && domain.holds(value)) ticks.push_back({value, length_label(value)});
  }
  return ticks;
}

}  // namespace

Range range_of(std::span<const double> values, ScaleKind kind) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (!can_show(value, kind)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  if (range.low > range.high) return {kind == ScaleKind::kLog ? 0.1 : 0.0, 1.0};
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  if (range.size() <= kSameShare * largest) return around(range.low, kind);
  return range;
}

Range padded(Range range, double share) {
  const double room = share * range.size();
  return {range.low - room, range.high + room};
}

Scale::Scale(ScaleKind kind, Range domain, Range pixels, double smallest)
    : kind_(kind), domain_(domain), pixels_(pixels), smallest_(smallest) {}

double Scale::linear(double value) const {
  switch (kind_) {
    case ScaleKind::kLog:
      return std::log2(value);
    case ScaleKind::kLogFromZero:
      return value < smallest_ ? value / smallest_ : 1.0 + std::log2(value / smallest_);
    case ScaleKind::kLinear:
      break;
  }
  return value;
}

double Scale::operator()(double value) const {
  if (!can_show(value, kind_)) return pixels_.low;
  const double low = linear(domain_.low);
  const double share = (linear(value) - low) / (linear(domain_.high) - low);
  return pixels_.low + share * (pixels_.high - pixels_.low);
}

std::vector<Tick> round_ticks(const Scale& scale, int64_t wanted) {
  const Range& domain = scale.domain();
  if (scale.kind() == ScaleKind::kLogFromZero) return binary_ticks(domain, scale.smallest(), wanted);
  if (scale.kind() == ScaleKind::kLinear) return linear_ticks(domain, wanted);
  std::vector<Tick> ticks = decimal_ticks(domain, wanted);
  return ticks.size() >= 2 ? ticks : linear_ticks(domain, wanted);
}

std::vector<Tick> given_ticks(const Scale& scale, std::span<const double> values) {
  std::vector<Tick> ticks;
  for (const double value : values) {
    if (!scale.domain().holds(value) || !can_show(value, scale.kind())) continue;
    ticks.push_back({value, length_label(value)});
  }
  return ticks;
}

}  // namespace segue::report

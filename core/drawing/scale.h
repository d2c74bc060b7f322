// Maps values to pixels, and chooses the round values that are written on an axis.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace segue::report {

// kLogFromZero: logarithmic, with 0 as far left of the smallest positive value as twice that value is right of it.
enum class ScaleKind : uint8_t { kLinear, kLog, kLogFromZero };

struct Range {
  double low = 0.0;
  double high = 0.0;
  double size() const { return high - low; }
  bool holds(double value) const { return value >= low && value <= high; }
};

// The range of the finite values that the scale can show (a logarithm: positive ones); {0, 1} when there is none, and
// never empty: a single value gets room on both sides.
Range range_of(std::span<const double> values, ScaleKind kind);

// The range with room beyond the outermost values, as a share of what they span.
Range padded(Range range, double share);

class Scale {
 public:
  // `smallest`: the smallest positive value of a kLogFromZero.
  Scale(ScaleKind kind, Range domain, Range pixels, double smallest = 1.0);
  double operator()(double value) const;  // the nearer end of the pixels for what a logarithm cannot show
  ScaleKind kind() const { return kind_; }
  const Range& domain() const { return domain_; }
  const Range& pixels() const { return pixels_; }
  double smallest() const { return smallest_; }

 private:
  double linear(double value) const;  // in which equal steps are equal pixels

  ScaleKind kind_;
  Range domain_;
  Range pixels_;
  double smallest_;
};

struct Tick {
  double value = 0.0;
  std::string label;  // empty: a mark without one
};

// Round values within the domain, about `wanted` of them and at least one: 1, 2, 2.5 or 5 times a power of ten; for
// logarithms powers of ten or of two, and 1, 2, 5 within few decades. Labels of large values carry prefixes: "20 k".
std::vector<Tick> round_ticks(const Scale& scale, int64_t wanted);

// These values, those outside the domain left out.
std::vector<Tick> given_ticks(const Scale& scale, std::span<const double> values);

}  // namespace segue::report

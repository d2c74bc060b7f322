// The elements that all drawings are made of. Coordinates are finite, or an element is a ContractError.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/drawing/plot.h"

namespace segue::report {

struct Place {
  double x = 0.0;
  double y = 0.0;
};

enum class Anchor : uint8_t { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 13.0;
  Anchor anchor = Anchor::kStart;
  Tone tone = Tone::kText;
  bool is_over_lines = false;  // the background shows around the letters
};

class Svg {
 public:
  Svg(double width, double height, Ink ink, std::string_view title);

  void line(Place from, Place to, const std::string& colour, double width, std::string_view dash = {});
  void path(const std::vector<Place>& places, const std::string& colour, double width, std::string_view dash,
            double opacity = 1.0);
  void area(const std::vector<Place>& outline, const std::string& colour, double opacity);
  void areas(const std::vector<std::vector<Place>>& outlines, const std::string& colour, double opacity);
  void rectangle(Place corner, double width, double height, const std::string& colour, std::string_view title);
  // A filled sign, of four shapes in turn.
  void marker(Place place, int64_t shape, double size, const std::string& colour);
  void ring(Place place, double size, const std::string& colour);
  // Unseen until the pointer rests on it.
  void hover(Place place, const std::string& colour, std::string_view title);
  void text(Place place, std::string_view content, const TextStyle& style);

  Ink ink() const { return ink_; }
  std::string finish();

 private:
  Ink ink_;
  std::string content_;
};

}  // namespace segue::report

// A step for every row: one area where each has one run of keys, otherwise a bar for each run.
#include "core/drawing/visible_pairs.h"

#include <algorithm>

#include "core/drawing/markup.h"
#include "core/drawing/numbers.h"
#include "core/drawing/plot_layout.h"
#include "core/drawing/svg.h"

namespace segue::report {

namespace {

constexpr double kTokenRowHeight = 3.0;
constexpr double kSeenOpacity = 0.6;
constexpr double kNarrowestGap = 0.5;  // between runs that are drawn apart

// Where on a drawing a row's runs begin and end.
struct Bar {
  double left, right;
};

std::vector<Bar> bars_of(const std::vector<VisiblePairs::Keys>& runs, const Scale& x) {
  std::vector<Bar> bars;
  for (const auto& [first, last] : runs) {
    const Bar bar{x(static_cast<double>(first)), x(static_cast<double>(last + 1))};
    if (!bars.empty() && bar.left - bars.back().right < kNarrowestGap) {
      bars.back().right = bar.right;
    } else {
      bars.push_back(bar);
    }
  }
  return bars;
}

// The outline of rows of one bar each.
std::vector<Place> outline_of(const std::vector<std::vector<Bar>>& rows, double top) {
  std::vector<Place> left, right;
  double y = top;
  for (const std::vector<Bar>& bars : rows) {
    for (const double edge : {y, y + kTokenRowHeight}) {
      left.push_back({bars[0].left, edge});
      right.push_back({bars[0].right, edge});
    }
    y += kTokenRowHeight;
  }
  left.insert(left.end(), right.rbegin(), right.rend());
  return left;
}

void fill(const std::vector<std::vector<Bar>>& rows, double top, const std::string& colour, Svg& svg) {
  if (rows.empty()) return;
  if (std::ranges::all_of(rows, [](const std::vector<Bar>& bars) { return bars.size() == 1; }))
    return svg.area(outline_of(rows, top), colour, kSeenOpacity);
  std::vector<std::vector<Place>> outlines;
  double y = top;
  for (const std::vector<Bar>& bars : rows) {
    for (const Bar& bar : bars) outlines.push_back(outline_of({{bar}}, y));
    y += kTokenRowHeight;
  }
  svg.areas(outlines, colour, kSeenOpacity);
}

// One drawing's parts, and how high they are.
class Painter {
 public:
  Painter(const VisiblePairs& pairs, const Sizes& sizes)
      : pairs_(pairs), sizes_(sizes), title_(wrapped(pairs.title, sizes.width, sizes.font)), line_(1.35 * sizes.font) {}

  double height() const { return bottom() + 1.8 * sizes_.font; }

  void paint(double above, Svg& svg) const {
    for (size_t i = 0; i < title_.size(); ++i)
      svg.text({0.0, above + sizes_.font + line_ * static_cast<double>(i)}, title_[i], {.size = sizes_.font});
    const auto tokens = static_cast<double>(std::max<int64_t>(pairs_.segment, 1));
    const Scale x(ScaleKind::kLinear, {-static_cast<double>(pairs_.memory), tokens}, {0.0, sizes_.width});
    std::vector<std::vector<Bar>> bars;
    for (const auto& runs : pairs_.rows) bars.push_back(bars_of(runs, x));
    fill(bars, above + top(), series_colour(pairs_.colour, svg.ink()), svg);
    svg.line({x(0.0), above + top()}, {x(0.0), above + bottom()}, colour(Tone::kText, svg.ink()), 1.0);
    const double baseline = above + bottom() + 1.3 * sizes_.font;
    if (pairs_.memory > 0)
      svg.text({0.0, baseline}, length_text(static_cast<double>(pairs_.memory)) + " in memory",
               {.size = sizes_.font, .tone = Tone::kQuiet});
    const auto global = static_cast<double>(pairs_.global_tokens);
    svg.text({sizes_.width, baseline},
             (global > 0.0 ? length_text(global) + " global, " : "") + length_text(tokens - global) + " in the segment",
             {.size = sizes_.font, .anchor = Anchor::kEnd, .tone = Tone::kQuiet});
  }

 private:
  double top() const { return line_ * static_cast<double>(title_.size()) + 0.45 * sizes_.font; }
  double bottom() const { return top() + kTokenRowHeight * static_cast<double>(pairs_.rows.size()); }

  const VisiblePairs& pairs_;
  const Sizes& sizes_;
  std::vector<std::string> title_;
  double line_;
};

}  // namespace

std::string draw(const std::vector<VisiblePairs>& all, const Canvas& canvas, const std::string& title) {
  const Sizes sizes = sizes_of(canvas.width);
  std::vector<Painter> painters;
  double height = 0.0;
  for (const VisiblePairs& pairs : all) height += painters.emplace_back(pairs, sizes).height();
  Svg svg(sizes.width, height, canvas.ink, title);
  double above = 0.0;
  for (const Painter& painter : painters) {
    painter.paint(above, svg);
    above += painter.height();
  }
  return svg.finish();
}

std::string draw(const VisiblePairs& pairs, const Canvas& canvas) {
  return draw(std::vector{pairs}, canvas, pairs.title);
}

}  // namespace segue::report

// One area, a step for every row. Where tokens are more than rows can show, evenly chosen ones stand for all.
#include "core/drawing/visible_pairs.h"

#include <algorithm>

#include "core/drawing/curves.h"
#include "core/drawing/markup.h"
#include "core/drawing/numbers.h"
#include "core/drawing/plot_layout.h"
#include "core/drawing/svg.h"

namespace segue::report {

namespace {

constexpr size_t kMostTokenRows = 48;
constexpr double kTokenRowHeight = 3.0;
constexpr double kSeenOpacity = 0.6;

}  // namespace

std::string draw(const VisiblePairs& pairs, const Canvas& canvas) {
  const Sizes sizes = sizes_of(canvas.width);
  const std::vector<size_t> rows = even_choice(pairs.tokens.size(), kMostTokenRows);
  const std::vector<std::string> title = wrapped(pairs.title, sizes.width, sizes.font);
  const double line = 1.35 * sizes.font;
  const double top = line * static_cast<double>(title.size()) + 0.45 * sizes.font;
  const double bottom = top + kTokenRowHeight * static_cast<double>(rows.size());
  Svg svg(sizes.width, bottom + 1.8 * sizes.font, canvas.ink, pairs.title);
  for (size_t i = 0; i < title.size(); ++i)
    svg.text({0.0, sizes.font + line * static_cast<double>(i)}, title[i], {.size = sizes.font});
  const auto tokens = static_cast<double>(std::max<size_t>(pairs.tokens.size(), 1));
  const Scale x(ScaleKind::kLinear, {-static_cast<double>(pairs.memory), tokens}, {0.0, sizes.width});
  std::vector<Place> left;
  std::vector<Place> right;
  double y = top;
  for (const size_t row : rows) {
    const VisiblePairs::Keys& keys = pairs.tokens[row];
    for (const double edge : {y, y + kTokenRowHeight}) {
      left.push_back({x(static_cast<double>(keys.first)), edge});
      right.push_back({x(static_cast<double>(keys.last + 1)), edge});
    }
    y += kTokenRowHeight;
  }
  left.insert(left.end(), right.rbegin(), right.rend());
  if (!left.empty()) svg.area(left, series_colour(pairs.colour, canvas.ink), kSeenOpacity);
  svg.line({x(0.0), top}, {x(0.0), bottom}, colour(Tone::kText, canvas.ink), 1.0);
  const double baseline = bottom + 1.3 * sizes.font;
  if (pairs.memory > 0)
    svg.text({0.0, baseline}, length_text(static_cast<double>(pairs.memory)) + " in memory",
             {.size = sizes.font, .tone = Tone::kQuiet});
  svg.text({sizes.width, baseline}, length_text(tokens) + " in the segment",
           {.size = sizes.font, .anchor = Anchor::kEnd, .tone = Tone::kQuiet});
  return svg.finish();
}

}  // namespace segue::report

// What is not finite breaks lines and bands.
#include "core/drawing/line_painter.h"

#include <algorithm>
#include <cmath>

#include "core/drawing/plot_layout.h"

namespace segue::report {

namespace {

constexpr double kBandOpacity = 0.16;
constexpr double kWhisker = 1.5;
constexpr double kLoneDot = 2.5;

// Calls `use` with every run of points that are among those to be joined.
template <typename IsJoined, typename Use>
void for_each_run(const Series& series, const IsJoined& is_joined, const Use& use) {
  std::vector<Point> run;
  for (const Point& point : series.points) {
    if (is_joined(point)) {
      run.push_back(point);
      continue;
    }
    if (!run.empty()) use(run);
    run.clear();
  }
  if (!run.empty()) use(run);
}

}  // namespace

// Bands that are far wider than others end where the plot does.
double LinePainter::within(double y) const {
  const auto [top, bottom] = std::minmax(y_.pixels().low, y_.pixels().high);
  return std::clamp(y_(y), top, bottom);
}

void LinePainter::band(const Series& series, const std::string& paint) {
  const auto is_joined = [&](const Point& point) { return is_drawn(point, x_.kind()) && point.each.empty(); };
  for_each_run(series, is_joined, [&](const std::vector<Point>& run) {
    if (std::all_of(run.begin(), run.end(), [](const Point& point) { return point.spread == 0.0; })) return;
    if (run.size() == 1) {
      const Point& point = run.front();
      const double x = x_(point.x);
      svg_.line({x, within(point.y - point.spread)}, {x, within(point.y + point.spread)}, paint, kWhisker);
      return;
    }
    std::vector<Place> outline;
    outline.reserve(2 * run.size());
    for (const Point& point : run) outline.push_back({x_(point.x), within(point.y + point.spread)});
    for (auto point = run.rbegin(); point != run.rend(); ++point)
      outline.push_back({x_(point->x), within(point->y - point->spread)});
    svg_.area(outline, paint, kBandOpacity);
  });
}

void LinePainter::line(const Series& series, const Stroke& stroke) {
  if (series.style == LineStyle::kPoints) return;
  const auto is_joined = [&](const Point& point) { return is_drawn(point, x_.kind()); };
  for_each_run(series, is_joined, [&](const std::vector<Point>& run) {
    std::vector<Place> places;
    places.reserve(run.size());
    for (const Point& point : run) places.push_back(place_of(point));
    svg_.path(places, stroke.paint, stroke.width, stroke.dash, stroke.opacity);
    const bool is_behind = stroke.opacity < 1.0;
    if (run.size() == 1 && !series.has_markers && !is_behind) svg_.marker(places.front(), 0, kLoneDot, stroke.paint);
  });
}

void LinePainter::markers(const Series& series, int64_t shape, double size, const std::string& paint) {
  if (!series.has_markers) return;
  for (const Point& point : series.points) {
    if (is_drawn(point, x_.kind())) svg_.marker(place_of(point), shape, size, paint);
  }
}

void LinePainter::rings(const Series& series, double size, const std::string& paint) {
  for (const Point& point : series.points) {
    if (!is_drawn(point, x_.kind())) continue;
    for (const double y : point.each) svg_.ring({x_(point.x), within(y)}, size, paint);
  }
}

void LinePainter::titles(const Series& series, const std::string& paint) {
  for (const Point& point : series.points) {
    if (!point.title.empty() && is_drawn(point, x_.kind())) svg_.hover(place_of(point), paint, point.title);
  }
}

}  // namespace segue::report

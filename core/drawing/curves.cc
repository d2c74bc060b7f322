#include "core/drawing/curves.h"

#include <algorithm>
#include <cmath>

namespace segue::report {

namespace {

constexpr int64_t kPartOfCurve = 4;  // a mean reaches over no more of what came before: curves begin steeply

// How many of `count` points come before the end of a bucket; all of them before that of the last.
int64_t bucket_end(int64_t bucket, int64_t most, int64_t count, ScaleKind x_scale) {
  const double share = static_cast<double>(bucket + 1) / static_cast<double>(most);
  const double end =
      x_scale == ScaleKind::kLinear ? share * static_cast<double>(count) : std::pow(static_cast<double>(count), share);
  return std::clamp(static_cast<int64_t>(std::llround(end)), int64_t{1}, count);
}

}  // namespace

std::vector<Point> moving_mean(const std::vector<Point>& points, int64_t half) {
  const int64_t count = std::ssize(points);
  std::vector<double> sums{0.0};
  for (const Point& point : points) sums.push_back(sums.back() + point.y);
  std::vector<Point> means = points;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t left = std::min(half, i / kPartOfCurve);
    const int64_t right = std::min(left, count - 1 - i);
    const double sum = sums[static_cast<size_t>(i + right + 1)] - sums[static_cast<size_t>(i - left)];
    means[static_cast<size_t>(i)].y = sum / static_cast<double>(left + right + 1);
  }
  return means;
}

std::vector<Point> thinned(const std::vector<Point>& points, int64_t most, ScaleKind x_scale) {
  const int64_t count = std::ssize(points);
  if (count <= most) return points;
  std::vector<Point> fewer;
  int64_t from = 0;
  for (int64_t bucket = 0; bucket < most; ++bucket) {
    const int64_t to = bucket_end(bucket, most, count, x_scale);
    if (to == from) continue;
    Point mean;
    for (int64_t i = from; i < to; ++i) {
      mean.x += points[static_cast<size_t>(i)].x / static_cast<double>(to - from);
      mean.y += points[static_cast<size_t>(i)].y / static_cast<double>(to - from);
    }
    fewer.push_back(mean);
    from = to;
  }
  fewer.back().x = points.back().x;
  return fewer;
}

std::vector<size_t> even_choice(size_t count, size_t most) {
  std::vector<size_t> chosen;
  const size_t kept = std::min(count, most);
  for (size_t i = 0; i < kept; ++i) chosen.push_back(kept < 2 ? 0 : i * (count - 1) / (kept - 1));
  return chosen;
}

}  // namespace segue::report

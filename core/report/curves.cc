// Means of neighbours.
#include "core/report/curves.h"

#include <algorithm>
#include <cmath>

namespace segue::report {

std::vector<Point> moving_mean(const std::vector<Point>& points, int64_t half) {
  const int64_t count = std::ssize(points);
  std::vector<double> sums{0.0};
  for (const Point& point : points) sums.push_back(sums.back() + point.y);
  std::vector<Point> means = points;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t reach = std::min({half, i, count - 1 - i});
    const double sum = sums[static_cast<size_t>(i + reach + 1)] - sums[static_cast<size_t>(i - reach)];
    means[static_cast<size_t>(i)].y = sum / static_cast<double>(2 * reach + 1);
  }
  return means;
}

std::vector<Point> thinned(const std::vector<Point>& points, int64_t most) {
  const int64_t count = std::ssize(points);
  if (count <= most || most < 2) return points;
  std::vector<Point> fewer;
  for (int64_t bucket = 0; bucket + 1 < most; ++bucket) {
    const int64_t from = bucket * (count - 1) / (most - 1);
    const int64_t to = (bucket + 1) * (count - 1) / (most - 1);
    Point mean;
    for (int64_t i = from; i < to; ++i) {
      mean.x += points[static_cast<size_t>(i)].x / static_cast<double>(to - from);
      mean.y += points[static_cast<size_t>(i)].y / static_cast<double>(to - from);
    }
    fewer.push_back(mean);
  }
  fewer.push_back(points.back());
  return fewer;
}

std::vector<LossOfPart> joined(const std::vector<LossOfPart>& parts, IsEnough is_enough) {
  std::vector<LossOfPart> groups;
  LossOfPart group;
  double variance = 0.0;  // of the sum of losses, times a constant
  for (const LossOfPart& part : parts) {
    const auto tokens = static_cast<double>(part.tokens);
    if (group.tokens == 0) group.from = part.from;
    group.to = part.to;
    group.tokens += part.tokens;
    group.loss += tokens * part.loss;
    variance += (tokens * part.confidence95) * (tokens * part.confidence95);
    if (group.tokens == 0 || (!is_enough(group) && &part != &parts.back())) continue;
    group.loss /= static_cast<double>(group.tokens);
    group.confidence95 = std::sqrt(variance) / static_cast<double>(group.tokens);
    groups.push_back(group);
    group = {};
    variance = 0.0;
  }
  return groups;
}

std::vector<size_t> even_choice(size_t count, size_t most) {
  std::vector<size_t> chosen;
  const size_t kept = std::min(count, most);
  for (size_t i = 0; i < kept; ++i) chosen.push_back(kept < 2 ? 0 : i * (count - 1) / (kept - 1));
  return chosen;
}

}  // namespace segue::report

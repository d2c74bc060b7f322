// Long curves made readable: a moving mean, and no more points than pixels can show.
#pragma once

#include <cstdint>
#include <vector>

#include "core/drawing/plot.h"

namespace segue::report {

// Each y becomes the mean of those up to `half` points to either side; of fewer at the beginning, as many on the left
// as on the right, where curves are steep; at the end only of those that there are.
std::vector<Point> moving_mean(const std::vector<Point>& points, int64_t half);

// At most `most` points: means of neighbours, of equally many, or on a logarithmic scale of ever more. The last one is
// where the last was. Titles stay where nothing is merged.
std::vector<Point> thinned(const std::vector<Point>& points, int64_t most, ScaleKind x_scale);

// Rows evenly apart, the first and the last among them, when there are more than `most`.
std::vector<size_t> even_choice(size_t count, size_t most);

}  // namespace segue::report

// Long curves made readable: a moving mean, and no more points than pixels can show.
#pragma once

#include <cstdint>
#include <vector>

#include "core/report/evaluation_file.h"
#include "core/report/plot.h"

namespace segue::report {

// Each y becomes the mean of those up to `half` points to either side, fewer near the ends so that none is off centre.
std::vector<Point> moving_mean(const std::vector<Point>& points, int64_t half);

// At most `most` points: means of neighbours; the last point stays as it is. Titles stay where nothing is merged.
std::vector<Point> thinned(const std::vector<Point>& points, int64_t most);

// Neighbouring parts joined until each group is enough: the means of their losses by tokens, and confidence as if they
// were independent.
using IsEnough = bool (*)(const LossOfPart& group);
std::vector<LossOfPart> joined(const std::vector<LossOfPart>& parts, IsEnough is_enough);

// Rows evenly apart, the first and the last among them, when there are more than `most`.
std::vector<size_t> even_choice(size_t count, size_t most);

}  // namespace segue::report

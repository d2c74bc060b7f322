#include "core/convert/finite_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace segue {

namespace {

// "[3, 17]"
std::string position_text(int64_t element, const Shape& shape) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; element /= shape[axis--])
    text = fmt::format("{}{}{}", element % shape[axis], text.empty() ? "" : ", ", text);
  return "[" + text + "]";
}

}  // namespace

void check_finite(ConstTensorView weights, const std::string& where) {
  const auto* const values = weights.as<float>();
  const auto* const end = values + weights.elements();
  const auto is_broken = [](float value) { return !std::isfinite(value); };
  const auto* const first = std::find_if(values, end, is_broken);
  if (first == end) return;
  throw CheckpointError(
      "{}: expected finite numbers, found {} at {} and {} such in all among {}: training diverged there, or the file "
      "is damaged; take weights of an earlier step",
      where, non_finite(*first), position_text(first - values, weights.shape),
      human_count(std::count_if(first, end, is_broken)), human_count(weights.elements()));
}

}  // namespace segue

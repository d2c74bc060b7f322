// Parts in proportion, or one after another.
#include "data_pipeline/tasks/example_order.h"

#include <algorithm>

namespace segue {

ExampleOrder::ExampleOrder(const TaskSplit& split) : made_(split.parts.size()), is_mixed_(split.is_mixed()) {
  for (const TaskPart& part : split.parts) {
    wanted_.push_back(part.examples);
    examples_ += part.examples;
  }
}

bool ExampleOrder::next() {
  if (turned_ == examples_) return false;
  ++turned_;
  // Behind by wanted * turned / examples - made, times `examples`. No part is made more often than wanted: of the one
  // that lags most, less than its share of all that were turned to was made.
  const auto lag = [&](size_t part) { return wanted_[part] * turned_ - made_[part] * examples_; };
  if (is_mixed_) {
    part_ = 0;
    for (size_t part = 1; part < wanted_.size(); ++part)
      if (lag(part) > lag(part_)) part_ = part;
  } else {
    while (made_[part_] == wanted_[part_]) ++part_;
  }
  ++made_[part_];
  return true;
}

int64_t padded_tokens(const TaskSplit& split, size_t part) {
  if (!split.is_mixed()) return split.parts[part].length + 1;
  return std::ranges::max(split.parts, {}, &TaskPart::length).length + 1;
}

}  // namespace segue

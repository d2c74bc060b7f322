// Draws what attention has before training: the keys that each variant sees, and its biases by distance.
#pragma once

#include "core/compare/comparison_result.h"
#include "core/drawing/page.h"

namespace segue {

// One drawing for all variants that see the same.
report::Figure visible_pairs_of(const ComparisonResult& result);

// Of the variants that have biases; no charts when none has.
report::Figure biases_of(const ComparisonResult& result);

}  // namespace segue

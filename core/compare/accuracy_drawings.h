// Drawings of how often a comparison's variants answer right, and of the size of the state that they carry.
#pragma once

#include "core/compare/comparison_result.h"
#include "core/drawing/page.h"

namespace segue {

// Of marked data, in the section before: by bytes of state, by what the examples ask for, by their length, by distance,
// and a grid of two of these for each variant.
void add_accuracy_drawings(report::Page& page, const ComparisonResult& result);

}  // namespace segue

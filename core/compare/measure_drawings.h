// How a comparison shows what its variants are compared by: right answers and losses alike.
#pragma once

#include <string>

#include "core/compare/comparison_result.h"
#include "core/drawing/page.h"

namespace segue {

// "segments of 128, memory 256"
std::string lengths_text(const VariantPoint& point);

// A section for each measure, before them who diverged.
void add_measures(report::Page& page, const ComparisonResult& result);

}  // namespace segue

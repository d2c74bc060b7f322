// Drawings of the measure that variants are compared by: losses, or right answers.
#pragma once

#include <string>

#include "core/compare/comparison_result.h"
#include "core/drawing/page.h"

namespace segue {

// The colour of a variant in drawings that have a row or a picture for each: of more variants than there are colours
// all have the same, so that none seem to belong together.
int64_t colour_of_row(const ComparisonResult& result, int64_t variant);

// "; rope has one seed left, and no interval": of variants of which all other seeds diverged; or none.
std::string lone_text(const ComparisonResult& result);

// "segments of 128, memory 256"
std::string lengths_text(const VariantPoint& point);

// A section for each measure, before them who diverged.
void add_measures(report::Page& page, const ComparisonResult& result);

}  // namespace segue

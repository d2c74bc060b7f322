// A comparison's result as one page without scripts.
#pragma once

#include <string>

#include "core/compare/comparison_result.h"
#include "core/drawing/page.h"

namespace segue {

// `title` names the comparison; the result has variants.
report::Page comparison_page(const ComparisonResult& result, const std::string& title);

}  // namespace segue

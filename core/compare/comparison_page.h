// A comparison's result as one page without scripts.
#pragma once

#include <string>

#include "core/compare/comparison_result.h"

namespace segue {

// `title` names the comparison; the result has variants.
std::string comparison_page(const ComparisonResult& result, const std::string& title);

}  // namespace segue

// The style sheet of the page: for light and dark, for phones and for paper.
#pragma once

#include <string>

namespace segue::report {

std::string style_sheet();

}  // namespace segue::report

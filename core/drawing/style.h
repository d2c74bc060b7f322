// How the page looks: light, dark, on a phone and on paper.
#pragma once

#include <string>

namespace segue::report {

std::string style_sheet();

}  // namespace segue::report

// A plot of more lines than can be told apart in one: a small panel for each, all on the same axes, where it stands out
// from the others. Nothing must be found by its colour, so they are as clear in grey, and lines that lie on one another
// are seen one by one.
#pragma once

#include <string>

#include "core/drawing/plot.h"

namespace segue::report {

std::string draw_panels(const Plot& plot, const Canvas& canvas);

}  // namespace segue::report

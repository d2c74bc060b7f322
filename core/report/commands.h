// The commands that would produce what a report page lacks, with the paths of its runs.
#pragma once

#include <string>
#include <vector>

#include "core/report/run_data.h"

namespace segue::report {

std::string training_command(const RunData& run);

// With several lengths of memory, up to that of training. `options` follow.
std::string evaluation_command(const RunData& run, const std::string& options);

// Of all runs, by the losses of their evaluation with the most lengths, or of one called "memory" that is still to
// come.
std::string effective_context_command(const std::vector<RunData>& runs);

}  // namespace segue::report

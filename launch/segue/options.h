// Options that several commands have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/config/kinds.h"

namespace segue {

// What a number of the command line must be. CLI11's own checks name their limits with 300 digits.
CLI::Validator at_least(double least);

// Of commands that compute without a config: on which device, and in which precision.
void add_place_options(CLI::App& command, std::string& device, PrecisionKind& precision);

}  // namespace segue

// The flags of the lengths that a command may give a stored model.
#pragma once

#include <segue/options.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace segue {

void add_length_options(CLI::App& command, const std::shared_ptr<LengthOptions>& lengths);

}  // namespace segue

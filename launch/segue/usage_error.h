// Errors of the command line in one line, as all others.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace segue {

// The error for an unknown command or flag: the word, and the one that was probably meant.
std::string usage_error(const CLI::App* app, const CLI::Error& error);

}  // namespace segue

// Errors of the command line in one line, as all others.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace segue {

// Of a word that is no command and of a flag that the command does not have: that word, and what was meant.
std::string usage_error(const CLI::App* app, const CLI::Error& error);

}  // namespace segue

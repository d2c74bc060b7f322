// The commands and flags of the program as the command line library keeps them. Errors, help, completion and the
// reference are made from them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace segue {

// The commands right below.
std::vector<const CLI::App*> commands_of(const CLI::App& app);
std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands);

// "segue bench step".
std::string full_name(const CLI::App& command);

// All names: "-o", "--output", "--no-same-length".
std::vector<std::string> flags_of(const CLI::Option& option);
std::vector<std::string> flags_of(const CLI::App& command);

}  // namespace segue

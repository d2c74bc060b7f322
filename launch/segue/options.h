// Options that several commands have.
#pragma once

#include <string>
#include <vector>

#include "base/json_fields.h"

namespace segue {

// The key extension of commands that read configs, checkpoints or what was made of these. Only a command line has it:
// no file that has keys of a command has this one. Before such a command runs, its flags load what they name.
void describe_extensions(JsonFields& fields);
void describe_extensions(JsonFields& fields, std::vector<std::string>& paths);
inline constexpr const char* kExtensionFlag = "--extension";

// The keys set and extension of commands that read a config.
void describe_overrides(JsonFields& fields, std::vector<std::string>& overrides);

}  // namespace segue

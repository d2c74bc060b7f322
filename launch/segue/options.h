// Options that several commands have.
#pragma once

#include <string>
#include <vector>

#include "base/json_fields.h"

namespace segue {

// The key set of commands that read a config.
void describe_overrides(JsonFields& fields, std::vector<std::string>& overrides);

}  // namespace segue

// Which key of a described struct was meant by one it does not know.
#pragma once

#include <string>

#include "base/json_fields.h"

namespace segue {

// The path of the key most likely meant by `unknown_path` ("model.mem_length"), list indices left out; "" when none is
// close: the same key elsewhere, else a similar key in the same object, else a similar path.
std::string nearest_key_path(std::string unknown_path, const Describe& prototype);

}  // namespace segue

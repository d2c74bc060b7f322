// Which key of a described struct was meant by one it does not know.
#pragma once

#include <string>
#include <string_view>

#include "base/json_fields.h"

namespace segue {

// The path of the key most likely meant by `unknown_path` ("model.mem_length"), with `[]` for list indices; "" when
// none is close: the same key elsewhere, else a similar key in the same object, else a similar path.
std::string nearest_key_path(std::string unknown_path, const Describe& prototype);

// What a key or flag of earlier versions is called today ("batch_size" for "batch"); "" for any other.
std::string_view renamed_key(std::string_view old);

// The path of the key that `unknown_path` was in earlier versions; "" when there was none.
std::string renamed_key_path(std::string unknown_path, const Describe& prototype);

}  // namespace segue

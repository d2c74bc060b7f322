// Finds a field in a line of JSON by the path of its keys: "content.text" is the field "text" of the object "content".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.h"

namespace segue {

// Null when no such field is there. A key that has dots itself wins over a path through objects, the longer key over
// the shorter.
const Json* find_field(const Json& object, std::string_view path);

// The paths of all texts and lists of whole numbers in an object, at most `most` of them.
std::vector<std::string> usable_fields(const Json& object, size_t most);

}  // namespace segue

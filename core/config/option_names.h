// Names of options in error messages: a flag for users of the program, a field for users of the library and of JSON
// files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace segue {

enum class OptionNames : uint8_t { kFlags, kFields };

// "--top-p" or "top_p" of the field `top_p`.
std::string option_name(OptionNames names, std::string_view field);

}  // namespace segue

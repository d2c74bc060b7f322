// What errors call an option: the program's users know a flag, those of the library and of JSON files a field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace segue {

enum class OptionNames : uint8_t { kFlags, kFields };

// "--top-p" or "top_p" of the field `top_p`.
std::string option_name(OptionNames names, std::string_view field);

}  // namespace segue

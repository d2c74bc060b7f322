// A flag is its field with dashes.
#include "core/generate/option_names.h"

#include <algorithm>

#include "base/error.h"

namespace segue {

std::string option_name(OptionNames names, std::string_view field) {
  if (names == OptionNames::kFields) return std::string(field);
  std::string flag = "--" + std::string(field);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void check_at_least(int64_t least, int64_t value, OptionNames names, std::string_view field) {
  if (value < least) throw ConfigError("{}: expected {} or more, found {}", option_name(names, field), least, value);
}

}  // namespace segue

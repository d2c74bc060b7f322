// A flag is its field with dashes.
#include "core/config/option_names.h"

#include <algorithm>

namespace segue {

std::string option_name(OptionNames names, std::string_view field) {
  if (names == OptionNames::kFields) return std::string(field);
  std::string flag = "--" + std::string(field);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace segue

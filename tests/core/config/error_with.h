// The error of a small config whose file says what overrides do, as tests of combinations compare it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_override.h"
#include "core/config/config.h"
#include "tests/message_of.h"

namespace segue {

inline std::string error_with(const std::vector<std::string>& overrides) {
  return message_of<ConfigError>([&] {
    const Json file{{"data", {{"path", "d"}}}};
    const Json document = apply_overrides<Config>(file, "c", overrides, "KEY=VALUE");
    parse_config(document.dump(), "c");
  });
}

}  // namespace segue

// The error of a small config with overrides, as tests of combinations compare it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "core/config/config.h"
#include "tests/message_of.h"

namespace segue {

inline std::string error_with(const std::vector<std::string>& overrides) {
  return message_of<ConfigError>([&] { parse_config(R"({"data": {"path": "d"}})", "c", overrides); });
}

}  // namespace segue

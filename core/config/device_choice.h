// The device a config or a command names, and what it allows.
#pragma once

#include <string_view>

#include "base/device.h"

namespace segue {

// "auto", "cpu", "cuda" (the first GPU) or "cuda:N".
bool is_device_name(std::string_view name);

// What such a name stands for here; "auto" is the first GPU, or the CPU where there is none. Whether a named GPU can be
// used is found out when it is opened. Throws ConfigError naming `key` for another name.
Device choose_device(std::string_view name, std::string_view key);

}  // namespace segue

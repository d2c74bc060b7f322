// The device a config or a command names, and what it allows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/device.h"
#include "base/json_fields.h"
#include "core/config/kinds.h"

namespace segue {

// "auto", "cpu", "cuda" or "cuda:N".
bool is_device_name(std::string_view name);

// The device that such a name stands for here. The ranks of a host take its GPUs in turns with "cuda", and with "auto",
// which is the CPU where there are none. Throws ConfigError naming `key` for another name.
Device choose_device(std::string_view name, std::string_view key, int local_rank = 0);

// Likewise, and throws DeviceError naming `key` for a GPU that cannot be used here.
Device usable_device(std::string_view name, std::string_view key, int local_rank = 0);

// The keys device, precision and threads of commands that compute without a training config.
void describe_compute(JsonFields& fields, std::string& device, PrecisionKind& precision, int64_t& threads);

}  // namespace segue

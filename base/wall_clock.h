// The time of day as everything that Segue writes tells it: UTC, ISO 8601.
#pragma once

#include <string>

namespace segue {

std::string utc_second();       // "2026-11-29T18:05:12Z"
std::string utc_millisecond();  // "2026-11-29T18:05:12.345Z"

}  // namespace segue

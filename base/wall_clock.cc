#include "base/wall_clock.h"

#include <fmt/chrono.h>

#include <chrono>
#include <ctime>

namespace segue {

std::string utc_second() { return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))); }

std::string utc_millisecond() {
  using std::chrono::system_clock;
  const auto now = std::chrono::floor<std::chrono::milliseconds>(system_clock::now());
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(system_clock::to_time_t(second)), (now - second).count());
}

}  // namespace segue

// Version 2 has one file, with bytes or "max"; version 1 another, with a number beyond any memory for no limit.
#include "base/memory_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/control_groups.h"
#include "base/text.h"

namespace segue {

std::optional<int64_t> memory_limit(const std::filesystem::path& groups, const std::filesystem::path& membership) {
  std::optional<int64_t> smallest;
  for (const std::filesystem::path& group : control_groups("memory", groups, membership))
    for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
      std::ifstream file(group / name);
      int64_t bytes = 0;
      if (file >> bytes && bytes > 0) smallest = std::min(bytes, smallest.value_or(bytes));
    }
  return smallest;
}

UsableMemory usable_memory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  return {.machine = std::max<int64_t>(pages, 0) * sysconf(_SC_PAGESIZE), .limit = memory_limit()};
}

std::string complaint_of_memory(int64_t bytes, std::string_view remedy, const UsableMemory& usable) {
  if (usable.bytes() <= 0 || bytes <= usable.bytes()) return "";
  const bool is_limit = usable.bytes() < usable.machine;
  return fmt::format("{} of memory, but {} has {}: the system may end it at any time; {}", human_bytes(bytes),
                     is_limit ? "the control group of this process" : "this machine", human_bytes(usable.bytes()),
                     remedy);
}

}  // namespace segue

// How much memory this process may use, as the machine, containers and schedulers limit it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace segue {

// Bytes of the smallest limit among the process's control group and those around it; none without one.
std::optional<int64_t> memory_limit(const std::filesystem::path& groups = "/sys/fs/cgroup",
                                    const std::filesystem::path& membership = "/proc/self/cgroup");

struct UsableMemory {
  int64_t machine = 0;                // bytes of its memory
  std::optional<int64_t> limit = {};  // memory_limit()
  int64_t bytes() const { return limit && *limit < machine ? *limit : machine; }
};
UsableMemory usable_memory();

// What is wrong with taking so many bytes; empty: nothing. `remedy` says what takes less: "lower --batch-size (8)".
std::string complaint_of_memory(int64_t bytes, std::string_view remedy, const UsableMemory& usable = usable_memory());

}  // namespace segue

// How many processors this process may keep busy, as containers and schedulers limit it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace segue {

// Whole processors of the smallest quota among the process's group and those around it, at least 1; none without one.
// The quota does not show in the cores that a process may use: with more threads than it allows, all wait together
// for the kernel to let one of them go on. Read from `groups`, where the hierarchies of both versions are mounted, and
// `membership`, a file like /proc/self/cgroup.
std::optional<int> cpu_quota(const std::filesystem::path& groups = "/sys/fs/cgroup",
                             const std::filesystem::path& membership = "/proc/self/cgroup");

struct UsableProcessors {
  int affinity = 1;               // processors that this process may run on
  std::optional<int> quota = {};  // cpu_quota()
  int count() const { return quota && *quota < affinity ? *quota : affinity; }
};
UsableProcessors usable_processors();

// What is wrong with so many threads, which `key` asks for, or OMP_NUM_THREADS where it is 0; empty: nothing.
std::string complaint_of_threads(int threads, std::string_view key, int64_t asked,
                                 const UsableProcessors& processors = usable_processors());

}  // namespace segue

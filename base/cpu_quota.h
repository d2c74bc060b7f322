// How much processor time the control groups of this process allow it, as containers limit it.
#pragma once

#include <filesystem>
#include <optional>

namespace segue {

// Whole processors of the smallest quota among the process's group and those around it, at least 1; none without one.
// The quota does not show in the cores that a process may use: with more threads than it allows, all wait together
// for the kernel to let one of them go on. Read from `groups`, where the hierarchies of both versions are mounted, and
// `membership`, a file like /proc/self/cgroup.
std::optional<int> cpu_quota(const std::filesystem::path& groups = "/sys/fs/cgroup",
                             const std::filesystem::path& membership = "/proc/self/cgroup");

}  // namespace segue

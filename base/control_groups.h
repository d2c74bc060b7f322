// The control groups of Linux that a process is in, by which containers and schedulers limit what it may use.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace segue {

// Directories of the process's group and of those around it, as far as they may limit `controller` ("cpu", "memory"),
// whether or not they exist. Under `groups` the hierarchies of both versions are mounted; `membership` is a file like
// /proc/self/cgroup. In a container the group may be named as the host has it, while only / is there.
std::vector<std::filesystem::path> control_groups(std::string_view controller,
                                                  const std::filesystem::path& groups = "/sys/fs/cgroup",
                                                  const std::filesystem::path& membership = "/proc/self/cgroup");

}  // namespace segue

// Version 2 has one file, "QUOTA PERIOD" in microseconds or "max PERIOD"; version 1 has two, and -1 for no quota.
#include "base/cpu_quota.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace segue {
namespace {

// The first number of a file; none where there is no such file, or a word.
std::optional<double> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  double number = 0.0;
  return file >> number ? std::optional(number) : std::nullopt;
}

std::optional<double> quota_of(const std::filesystem::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0.0;
  double period = 0.0;
  if (file >> quota >> period) return quota / period;
  const std::optional<double> first = number_in(group / "cpu.cfs_quota_us");
  const std::optional<double> second = number_in(group / "cpu.cfs_period_us");
  return first && second ? std::optional(*first / *second) : std::nullopt;
}

// Of "/a/b" the groups /a/b, /a and /. In a container the path may be the host's, of which only / is there.
void take_quotas(const std::filesystem::path& root, std::filesystem::path group, std::optional<double>& smallest) {
  for (bool goes_on = true; goes_on; group = group.parent_path()) {
    const std::optional<double> quota = quota_of(root / group.relative_path());
    if (quota && *quota > 0.0) smallest = std::min(*quota, smallest.value_or(*quota));
    goes_on = group.has_relative_path();
  }
}

bool has_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == "cpu") return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

}  // namespace

std::optional<int> cpu_quota(const std::filesystem::path& groups, const std::filesystem::path& membership) {
  std::optional<double> smallest;
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/a/b", or "0::/a/b" of version 2
    std::istringstream fields(line);
    std::string number, controllers, group;
    if (!std::getline(fields, number, ':') || !std::getline(fields, controllers, ':') || !std::getline(fields, group))
      continue;
    if (number == "0" && controllers.empty()) take_quotas(groups, group, smallest);
    if (has_cpu(controllers)) take_quotas(groups / controllers, group, smallest);
  }
  if (!smallest) return std::nullopt;
  return static_cast<int>(std::clamp(std::floor(*smallest), 1.0, 1e6));
}

UsableProcessors usable_processors() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const bool is_known = sched_getaffinity(0, sizeof(cores), &cores) == 0;
  const int affinity = is_known ? CPU_COUNT(&cores) : static_cast<int>(std::thread::hardware_concurrency());
  return {.affinity = std::max(affinity, 1), .quota = cpu_quota()};
}

std::string complaint_of_threads(int threads, std::string_view key, int64_t asked, const UsableProcessors& processors) {
  const int count = processors.count();
  if (threads <= count) return "";
  const bool is_quota = count < processors.affinity;
  return fmt::format(
      "{}: {} threads, but this process may use {} processor{}{}: threads that share one wait for each "
      "other; {}",
      asked > 0 ? key : "OMP_NUM_THREADS", threads, count, count == 1 ? "" : "s",
      is_quota ? ", by the quota of its control group" : "",
      asked > 0 ? "0 takes as many as it may use" : "without it as many are taken as it may use");
}

}  // namespace segue

// Control groups of version 2 have one file, "QUOTA PERIOD" in microseconds or "max PERIOD". Those of version 1 have
// two, with -1 for no quota.
#include "base/cpu_quota.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "base/control_groups.h"

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

}  // namespace

std::optional<int> cpu_quota(const std::filesystem::path& groups, const std::filesystem::path& membership) {
  std::optional<double> smallest;
  for (const std::filesystem::path& group : control_groups("cpu", groups, membership)) {
    const std::optional<double> quota = quota_of(group);
    if (quota && *quota > 0.0) smallest = std::min(*quota, smallest.value_or(*quota));
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
      asked > 0 ? "0 uses as many threads as processors" : "unset it to use as many threads as processors");
}

}  // namespace segue

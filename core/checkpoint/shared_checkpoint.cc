#include "core/checkpoint/shared_checkpoint.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"

namespace segue {

namespace {

using Clock = std::chrono::steady_clock;

// Clients of a shared file system see what others have written after some seconds.
constexpr std::chrono::seconds kPatience(5);
constexpr std::chrono::milliseconds kPause(250);

// A rank's answer about the checkpoint that the first rank named.
struct Finding {
  std::optional<Checkpoint> checkpoint = {};
  std::string error = {};    // empty: it is the one
  std::string warning = {};  // about how it was found
};

std::string tell(const std::optional<Checkpoint>& chosen) {
  if (!chosen) return "";
  return OrderedJson{{"directory", std::filesystem::absolute(chosen->directory()).string()},
                     {"step", chosen->step()},
                     {"manifest", chosen->manifest_checksum()}}
      .dump();
}

Finding look_for(const OrderedJson& told) {
  const std::filesystem::path directory = told["directory"].get<std::string>();
  const auto expected = told["manifest"].get<std::string>();
  try {
    const Manifest found = read_manifest(directory);
    if (checksum_of(found) == expected) return {.checkpoint = Checkpoint(directory)};
    return {.error =
                fmt::format("{}: expected step {} with manifest {}, as rank 0 has, found step {} with manifest {}",
                            directory.string(), told["step"].get<int64_t>(), expected, found.step, checksum_of(found))};
  } catch (const Error& error) {
    return {.error = fmt::format("expected step {} with manifest {}, as rank 0 has: {}", told["step"].get<int64_t>(),
                                 expected, error.what())};
  }
}

Finding look_again_for(const OrderedJson& told) {
  const Clock::time_point start = Clock::now();
  Finding finding = look_for(told);
  const std::string first_error = finding.error;
  while (!finding.checkpoint && Clock::now() < start + kPatience) {
    std::this_thread::sleep_for(kPause);
    finding = look_for(told);
  }
  if (finding.checkpoint && !first_error.empty())
    finding.warning = fmt::format("{}; found it {:.1f} s later", first_error,
                                  std::chrono::duration<double>(Clock::now() - start).count());
  return finding;
}

}  // namespace

std::optional<Checkpoint> open_together(std::optional<Checkpoint> chosen, Job& job, Logger& logger) {
  const std::string told = job.gather(job.is_first() ? tell(chosen) : "").front();
  if (told.empty()) return std::nullopt;
  Finding mine{.checkpoint = std::move(chosen)};
  if (!job.is_first()) mine = look_again_for(OrderedJson::parse(told));
  const OrderedJson said{{"host", job.host()}, {"error", mine.error}, {"warning", mine.warning}};
  const std::vector<std::string> all = job.gather(said.dump());
  for (size_t r = 0; r < all.size(); ++r) {
    const OrderedJson other = OrderedJson::parse(all[r]);
    const std::string who = fmt::format("rank {} on {}", r, other["host"].get<std::string>());
    if (!other["error"].get<std::string>().empty())
      throw CheckpointError("{}: {}", who, other["error"].get<std::string>());
    if (job.is_first() && !other["warning"].get<std::string>().empty())
      logger.warn("{}: {}", who, other["warning"].get<std::string>());
  }
  return std::move(mine.checkpoint);
}

}  // namespace segue

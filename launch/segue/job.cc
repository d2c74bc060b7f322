#include "launch/segue/job.h"

#include <omp.h>
#include <sched.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "base/checksum.h"
#include "base/cpu_quota.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "distributed/collectives_choice.h"
#include "distributed/launched_tasks.h"

namespace segue {

namespace {

// Does not return when there are other ranks.
void end_job(Job& job, const char* message, ExitCode code) {
  if (job.size() == 1) return;
  if (!job.is_first()) std::this_thread::sleep_for(kFirstSpeaks);
  static_cast<void>(
      std::fprintf(stderr, "segue: rank %d of %d: %s\n", job.rank(), job.size(), visible_line(message).c_str()));
  job.abort(static_cast<int>(code));
}

}  // namespace

std::shared_ptr<Logger> make_job_logger(const Job& job, bool quiet) {
  if (job.is_first()) return make_logger(quiet);
  constexpr bool kWarningsOnly = true;
  return make_logger(kWarningsOnly, fmt::format("rank {} on {}: ", job.rank(), job.host()));
}

void say_for_all(const Job& job, const std::string& line) {
  if (job.is_first()) static_cast<void>(std::fprintf(stderr, "segue: %s\n", visible_line(line).c_str()));
}

std::string usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return "unknown";
  std::string text;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores)) continue;
    const int first = core;
    while (core + 1 < CPU_SETSIZE && CPU_ISSET(core + 1, &cores)) ++core;
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (core > first) text += fmt::format("-{}", core);
  }
  return text;
}

void warn_of_threads(std::string_view key, int64_t asked, Logger& logger) {
  const int threads = asked > 0 ? static_cast<int>(asked) : omp_get_max_threads();
  const std::string complaint = complaint_of_threads(threads, key, asked);
  if (!complaint.empty()) logger.warn("{}", complaint);
}

void check_communicator(const Job& job, Device device, const TrainingConfig& training) {
  if (training.communicator == CollectivesKind::kNccl && !device.is_cuda())
    throw DeviceError(R"(training.communicator: "nccl" needs GPUs, and rank {} has none)", job.rank());
}

std::unique_ptr<Collectives> open_collectives(Job& job, Device device, const TrainingConfig& training, Logger& logger) {
  check_communicator(job, device, training);
  if (device.is_cuda()) return open_gpu_collectives(job, device, training.communicator, training.peer_timeout, logger);
  return job.open_collectives(device);
}

void run_as_rank(Job& job, const std::function<void()>& command) {
  try {
    with_typed_errors(command);
  } catch (const Error& error) {
    end_job(job, error.what(), error.code());
    throw;
  }
}

void check_build(Job& job) {
  if (job.size() == 1) return;
  const LongWork reading(job, "reading the program");
  const MappedFile program("/proc/self/exe");
  const std::string mine = fmt::format("{}, {}", SEGUE_VERSION, checksum_of(program.bytes()));
  const std::vector<std::string> hosts = job.gather(job.host());
  const std::vector<std::string> all = job.gather(mine);
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] != all[0])
      throw ConfigError("rank {} on {} runs another build of the program than rank 0 on {}: expected {}, found {}", r,
                        hosts[r], hosts[0], all[0], all[r]);
  }
}

void check_agreement(Job& job, const Config& config) {
  check_build(job);
  const std::vector<std::string> all = job.gather(to_json(config).dump());
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] != all[0])
      throw ConfigError("rank {} has another config than rank 0: {}", r,
                        diff_configs(parse_config(all[0], "config"), parse_config(all[r], "config")).front());
  }
}

void check_shares(const Config& config, int ranks) {
  if (config.training.batch_size < ranks)
    throw ConfigError("training.batch_size: expected at least {} streams, one for each rank, found {}", ranks,
                      config.training.batch_size);
}

void check_dataset(Job& job, const Dataset& dataset, const std::string& split) {
  const std::vector<std::string> all = job.gather(dataset.identity(split));
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] != all[0])
      throw DataError("rank {} has other {} than rank 0 in {}, split {}: {}, expected {}", r,
                      all[r].starts_with(kByTokens) && all[0].starts_with(kByTokens) ? "tokens" : "shards",
                      dataset.directory().string(), split, all[r], all[0]);
  }
}

}  // namespace segue

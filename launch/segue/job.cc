// Errors, logs and agreement of the ranks of a job.
#include "launch/segue/job.h"

#include <sched.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "distributed/communicator_choice.h"

namespace segue {

namespace {

// An error that all ranks meet is told by the first of them. MPI takes a second or two to end the others.
constexpr std::chrono::seconds kFirstSpeaks(5);

// Does not return when there are other ranks.
void end_job(Communicator& communicator, const char* message, ExitCode code) {
  if (communicator.size() == 1) return;
  if (!communicator.is_first()) std::this_thread::sleep_for(kFirstSpeaks);
  static_cast<void>(std::fprintf(stderr, "segue: rank %d of %d: %s\n", communicator.rank(), communicator.size(),
                                 visible_line(message).c_str()));
  communicator.abort(static_cast<int>(code));
}

}  // namespace

std::shared_ptr<Logger> make_job_logger(const Communicator& communicator, bool quiet) {
  if (communicator.is_first()) return make_logger(quiet);
  constexpr bool kWarningsOnly = true;
  return make_logger(kWarningsOnly, fmt::format("rank {} on {}: ", communicator.rank(), communicator.host()));
}

void say_for_all(const Communicator& communicator, const std::string& line) {
  if (communicator.is_first()) static_cast<void>(std::fprintf(stderr, "segue: %s\n", visible_line(line).c_str()));
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

std::unique_ptr<Communicator> open_between_gpus(Communicator& job, Device device, const TrainingConfig& training,
                                                Logger& logger) {
  if (device.is_cuda()) return open_gpu_communicator(job, device, training.communicator, training.peer_timeout, logger);
  if (training.communicator == CommunicatorKind::kNccl)
    throw DeviceError(R"(training.communicator: "nccl" needs GPUs, and rank {} has none)", job.rank());
  return nullptr;
}

void run_as_rank(Communicator& communicator, const std::function<void()>& command) try {
  command();
} catch (const Error& error) {
  end_job(communicator, error.what(), error.code());
  throw;
} catch (const std::bad_alloc&) {
  end_job(communicator, "out of memory", ExitCode::kDevice);
  throw;
} catch (const std::filesystem::filesystem_error& error) {
  end_job(communicator, error.what(), ExitCode::kFile);
  throw;
} catch (const std::exception& error) {
  end_job(communicator, error.what(), ExitCode::kInternal);
  throw;
}

void check_build(Communicator& communicator) {
  if (communicator.size() == 1) return;
  const LongWork reading(communicator, "reading the program");
  const MappedFile program("/proc/self/exe");
  const std::string mine = fmt::format("{}, {}", SEGUE_VERSION, checksum_of(program.bytes()));
  const std::vector<std::string> hosts = communicator.gather(communicator.host());
  const std::vector<std::string> all = communicator.gather(mine);
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] != all[0])
      throw ConfigError("rank {} on {} runs another build of the program than rank 0 on {}: expected {}, found {}", r,
                        hosts[r], hosts[0], all[0], all[r]);
  }
}

void check_agreement(Communicator& communicator, const Config& config) {
  check_build(communicator);
  const std::vector<std::string> all = communicator.gather(to_json(config).dump());
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

void check_dataset(Communicator& communicator, const Dataset& dataset, const std::string& split) {
  const std::vector<std::string> all = communicator.gather(dataset.identity(split));
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] != all[0])
      throw DataError("rank {} has other tokens than rank 0 in {}, split {}: {}, expected {}", r,
                      dataset.directory().string(), split, all[r], all[0]);
  }
}

}  // namespace segue

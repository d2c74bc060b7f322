#include "distributed/mpi_start_timeout.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/error.h"
#include "distributed/job.h"

namespace segue {

namespace {

// Before MPI has started only the launchers' variables name the rank: those of mpirun, of PMIx, of Slurm.
std::string rank_by_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* value = std::getenv(name); value != nullptr) return value;
  }
  return "unknown";
}

// All ranks that wait would say the same: the first ends the job before the others speak.
double seconds_after_the_first(const std::string& rank) {
  return std::clamp(5.0 * std::strtod(rank.c_str(), nullptr), 0.0, 15.0);
}

[[noreturn]] void give_up(const std::string& rank, double timeout_seconds) {
  static_cast<void>(std::fputs(fmt::format("segue: rank {} on {}: the start of MPI: not all ranks came within {:g} s\n",
                                           rank, host_name(), timeout_seconds)
                                   .c_str(),
                               stderr));
  std::_Exit(static_cast<int>(ExitCode::kPeer));
}

void watch(const std::stop_token& end, double timeout_seconds) {
  const std::string rank = rank_by_launcher();
  const std::chrono::duration<double> patience(timeout_seconds + seconds_after_the_first(rank));
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, end, patience, [] { return false; });
  if (!end.stop_requested()) give_up(rank, timeout_seconds);
}

}  // namespace

MpiStartTimeout::MpiStartTimeout(double timeout_seconds)
    : watcher_([timeout_seconds](const std::stop_token& end) { watch(end, timeout_seconds); }) {}

}  // namespace segue

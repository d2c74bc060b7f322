// The variables of each launcher, from the innermost one outwards: mpirun runs within a step of srun, not the reverse.
#include "distributed/launched_tasks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "distributed/mpi_job.h"

namespace segue {

namespace {

struct Variables {
  std::string_view launcher;
  const char* count;
  const char* rank;
  std::string_view cure = {};
};

constexpr std::array kLaunchers{
    Variables{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    Variables{"mpirun", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
    Variables{"mpiexec", "PMI_SIZE", "PMI_RANK"},  // of MPICH and Intel MPI; srun --mpi=pmi2
    Variables{"jsrun", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"},
    Variables{"flux run", "FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
    Variables{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun --mpi=pmix"},
};

std::optional<int64_t> number_of(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view word(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && value >= 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<LaunchedTasks> launched_tasks(const std::function<const char*(const char* name)>& value_of) {
  for (const Variables& variables : kLaunchers) {
    const std::optional<int64_t> count = number_of(value_of(variables.count));
    const std::optional<int64_t> rank = number_of(value_of(variables.rank));
    if (!count || !rank) continue;
    const bool is_typed_in = variables.launcher == "srun" && value_of("SLURM_PTY_PORT") != nullptr;
    return LaunchedTasks{.count = is_typed_in ? 1 : *count,
                         .rank = *rank,
                         .launcher = variables.launcher,
                         .variable = variables.count,
                         .cure = variables.cure};
  }
  return std::nullopt;
}

std::string advice_to_stop(const std::function<const char*(const char* name)>& value_of, int64_t parent,
                           std::string_view parent_name) {
  if (value_of("PRTE_LAUNCHED") == nullptr) return {};
  const char* version = value_of("OMPI_VERSION");
  // On the host where mpirun runs it starts the ranks itself, by the name of what it is made of.
  const bool is_mpirun = parent_name == "prterun" || parent_name == "mpirun" || parent_name == "mpiexec";
  return fmt::format("mpirun of Open MPI {} kills ranks half a second after Ctrl-C or SIGTERM; to save and stop: {}",
                     version == nullptr ? "5" : version,
                     is_mpirun ? fmt::format("kill -USR1 {}", parent) : "kill -USR1 and the process number of mpirun");
}

std::string advice_to_stop() {
  const pid_t parent = getppid();
  std::ifstream file(fmt::format("/proc/{}/comm", parent));
  std::string name;
  std::getline(file, name);
  return advice_to_stop([](const char* variable) { return std::getenv(variable); }, parent, name);
}

std::string name_after_first() {
  const std::optional<LaunchedTasks> tasks = launched_tasks([](const char* name) { return std::getenv(name); });
  if (!tasks || tasks->count <= 1 || tasks->rank == 0) return {};
  std::this_thread::sleep_for(kFirstSpeaks);
  return fmt::format("rank {} of {}: ", tasks->rank, tasks->count);
}

namespace {

// In the first of several processes that a launcher has started; the others do not return. Nothing in a single one.
std::optional<LaunchedTasks> first_of_several() {
  std::optional<LaunchedTasks> tasks = launched_tasks([](const char* name) { return std::getenv(name); });
  if (!tasks || tasks->count <= 1) return std::nullopt;
  if (tasks->rank == 0) return tasks;
  std::this_thread::sleep_for(kFirstSpeaks);
  std::_Exit(static_cast<int>(ExitCode::kUsage));
}

}  // namespace

void check_one_process(std::string_view command) {
  const std::optional<LaunchedTasks> tasks = first_of_several();
  if (!tasks) return;
  throw UsageError(
      "{}: expected one process, found {} that {} started ({}): leave out {}; for {} commands apart, env -u {} "
      "segue {} ...",
      command, tasks->count, tasks->launcher, tasks->variable, tasks->launcher, tasks->count, tasks->variable, command);
}

void check_alone() {
  const std::optional<LaunchedTasks> tasks = first_of_several();
  if (!tasks) return;
  const std::string library = mpi_library();
  const std::string cure = library.empty()
                               ? "this program was built without MPI; install libopenmpi-dev and build again"
                               : fmt::format("start one job of them with {}{}the mpirun of {}", tasks->cure,
                                             tasks->cure.empty() ? "" : " or ", library);
  throw UsageError(
      "{} started {} processes ({}), and MPI finds each of them alone: {}; for {} jobs apart, env -u {} segue ...",
      tasks->launcher, tasks->count, tasks->variable, cure, tasks->count, tasks->variable);
}

}  // namespace segue

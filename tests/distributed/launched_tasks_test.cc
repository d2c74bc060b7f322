// What the environments of launchers say.
#include "distributed/launched_tasks.h"

#include <gtest/gtest.h>

#include <map>

namespace segue {
namespace {

using Environment = std::map<std::string, const char*>;

// "srun 4", or "none".
std::string found(const Environment& environment) {
  const auto tasks = launched_tasks([&](const char* name) {
    const auto at = environment.find(name);
    return at == environment.end() ? nullptr : at->second;
  });
  return tasks ? std::string(tasks->launcher) + " " + std::to_string(tasks->count) : "none";
}

TEST(LaunchedTasks, AreThoseOfAStep) {
  EXPECT_EQ(found({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "8"}}), "srun 4");
  EXPECT_EQ(found({{"PMI_SIZE", "3"}, {"PMI_RANK", "0"}}), "mpiexec 3");
  EXPECT_EQ(found({{"FLUX_JOB_SIZE", "2"}, {"FLUX_TASK_RANK", "1"}}), "flux run 2");
  EXPECT_EQ(found({{"JSM_NAMESPACE_SIZE", "6"}, {"JSM_NAMESPACE_RANK", "1"}}), "jsrun 6");
}

TEST(LaunchedTasks, AreNotWhatAnAllocationHasRoomFor) {
  EXPECT_EQ(found({}), "none");
  EXPECT_EQ(found({{"SLURM_NTASKS", "4"}}), "none") << "salloc";
  EXPECT_EQ(found({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}), "none") << "a batch script";
  EXPECT_EQ(found({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_PTY_PORT", "9"}}), "srun 1")
      << "srun --pty";
  EXPECT_EQ(found({{"LSB_DJOB_NUMPROC", "4"}, {"PBS_NP", "4"}}), "none");
}

TEST(LaunchedTasks, AreThoseOfTheInnermostLauncher) {
  EXPECT_EQ(found({{"OMPI_COMM_WORLD_SIZE", "1"},
                   {"OMPI_COMM_WORLD_RANK", "0"},
                   {"SLURM_STEP_NUM_TASKS", "4"},
                   {"SLURM_PROCID", "0"}}),
            "mpirun 1");
}

TEST(LaunchedTasks, AreNoWords) {
  for (const char* wrong : {"", "four", "-4", "4x", "99999999999999999999"})
    EXPECT_EQ(found({{"SLURM_STEP_NUM_TASKS", wrong}, {"SLURM_PROCID", "0"}}), "none") << wrong;
}

// What mpirun 5.0.11 and 4.1.8 say of themselves.
TEST(AdviceToStop, IsForTheMpirunThatKillsRanksBeforeTheySave) {
  const auto advice = [](const Environment& environment, std::string_view parent) {
    return advice_to_stop(
        [&](const char* name) {
          const auto at = environment.find(name);
          return at == environment.end() ? nullptr : at->second;
        },
        4711, parent);
  };
  const Environment fifth{{"PRTE_LAUNCHED", "1"}, {"OMPI_VERSION", "5.0.11"}, {"OMPI_TOOL_NAME", "mpirun"}};
  EXPECT_EQ(advice(fifth, "prterun"),
            "mpirun of Open MPI 5.0.11 kills ranks half a second after Ctrl-C or SIGTERM; to save and stop: "
            "kill -USR1 4711");
  EXPECT_EQ(advice(fifth, "prted"),
            "mpirun of Open MPI 5.0.11 kills ranks half a second after Ctrl-C or SIGTERM; to save and stop: "
            "kill -USR1 and the process number of mpirun");
  EXPECT_EQ(advice({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMMAND", "segue"}}, "orterun"), "");
  EXPECT_EQ(advice({}, "bash"), "");
}

}  // namespace
}  // namespace segue

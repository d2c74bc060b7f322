// A start that takes too long ends the process; one that does not leaves it alone.
#include "distributed/mpi_start_timeout.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace segue {
namespace {

TEST(MpiStartTimeoutDeathTest, EndsAProcessThatDoesNotStart) {
  EXPECT_EXIT(
      {
        ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
        const MpiStartTimeout watch(0.05);
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      testing::ExitedWithCode(8), "segue: rank 0 on .+: the start of MPI: not all ranks came within 0.05 s");
}

TEST(MpiStartTimeout, LeavesAProcessThatHasStartedAlone) {
  { const MpiStartTimeout watch(0.05); }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

}  // namespace
}  // namespace segue

// Ranks hear one another for as long as they beat, whatever else they do.
#include "distributed/heartbeat.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/distributed/job.h"

namespace segue {
namespace {

using std::chrono::milliseconds;

constexpr double kInterval = 0.02;
constexpr double kSilence = 1.0;  // many intervals: the machine may be busy

class HeartbeatTest : public testing::Test {
 protected:
  HeartbeatTest() { MPI_Comm_dup(MPI_COMM_WORLD, &beats_); }
  ~HeartbeatTest() override { MPI_Comm_free(&beats_); }
  MPI_Comm beats_ = MPI_COMM_NULL;
};

TEST_F(HeartbeatTest, BusyRanksAreHeard) {
  const Heartbeat heartbeat(beats_, kInterval);
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_LT(heartbeat.longest_silence(), kSilence);
  job().barrier();
}

TEST_F(HeartbeatTest, ASilentRankIsNoticed) {
  const bool is_silent = job().rank() == job().size() - 1;
  const auto heartbeat = is_silent ? nullptr : std::make_unique<Heartbeat>(beats_, kInterval);
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_TRUE(is_silent || heartbeat->longest_silence() > kSilence);
  job().barrier();
}

TEST_F(HeartbeatTest, BeginsAnewEveryTime) {
  for (int i = 0; i < 20; ++i) {
    const Heartbeat heartbeat(beats_, kInterval);
    EXPECT_LT(heartbeat.longest_silence(), kSilence);
    job().barrier();
  }
}

}  // namespace
}  // namespace segue

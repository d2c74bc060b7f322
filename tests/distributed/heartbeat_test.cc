// Ranks hear one another for as long as they beat, whatever else they do.
#include "distributed/heartbeat.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/process_status.h"
#include "tests/distributed/job.h"

namespace segue {
namespace {

using std::chrono::milliseconds;

constexpr double kInterval = 0.02;
constexpr double kSilence = 1.0;  // many intervals: the machine may be busy

class HeartbeatTest : public testing::Test {
 protected:
  // Never freed, as in a job: a sign may still be under way when a heartbeat ends, and MPI would take it for a message
  // of the communicator that is made next.
  static void SetUpTestSuite() { MPI_Comm_dup(MPI_COMM_WORLD, &beats); }
  static std::unique_ptr<Heartbeat> heartbeat(bool is_waiting = false) {
    return std::make_unique<Heartbeat>(beats, kInterval, [is_waiting] { return is_waiting; });
  }
  // The machine may be busy, and ranks come here at different times.
  static std::vector<Heartbeat::Stuck> wait_for_stuck(const Heartbeat& beating, size_t ranks) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (beating.stuck_for(kSilence).size() != ranks && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(milliseconds(10));
    return beating.stuck_for(kSilence);
  }
  static inline MPI_Comm beats = MPI_COMM_NULL;
};

TEST_F(HeartbeatTest, BusyRanksAreHeard) {
  const auto beating = heartbeat();
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_LT(beating->longest_silence(), kSilence);
  job().barrier();
}

TEST_F(HeartbeatTest, ASilentRankIsNoticed) {
  const bool is_silent = job().rank() == job().size() - 1;
  const auto beating = is_silent ? nullptr : heartbeat();
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_TRUE(is_silent || beating->longest_silence() > kSilence);
  job().barrier();
}

TEST_F(HeartbeatTest, BeginsAnewEveryTime) {
  for (int i = 0; i < 20; ++i) {
    const auto beating = heartbeat();
    EXPECT_LT(beating->longest_silence(), kSilence);
    job().barrier();
  }
}

TEST_F(HeartbeatTest, ARankThatLivesAndDoesNotGetOnIsNamed) {
  const int last = job().size() - 1;
  const ScopedActivity syncing("syncing a file");
  const auto beating = heartbeat(job().rank() != last);
  const std::vector<Heartbeat::Stuck> stuck = wait_for_stuck(*beating, 1);
  ASSERT_EQ(stuck.size(), 1);
  EXPECT_EQ(stuck[0].rank, last);
  EXPECT_EQ(stuck[0].what, "syncing a file");
  const Heartbeat::Wait wait = beating->longest_wait();
  EXPECT_GT(wait.seconds, 0.0);
  ASSERT_EQ(wait.awaited.size(), 1);
  EXPECT_EQ(wait.awaited[0].rank, last);
  job().barrier();
}

TEST_F(HeartbeatTest, ARankThatGetsOnIsWaitedFor) {
  const bool works = job().rank() == job().size() - 1;
  const auto beating = heartbeat(!works);
  for (int i = 0; i < 15; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    if (works) note_progress();
  }
  EXPECT_TRUE(beating->stuck_for(kSilence).empty());
  job().barrier();
}

TEST_F(HeartbeatTest, RanksThatAllWaitForOneAnotherAreNoticed) {
  const auto beating = heartbeat(true);
  const auto ranks = static_cast<size_t>(job().size());
  EXPECT_EQ(wait_for_stuck(*beating, ranks).size(), ranks);
  EXPECT_TRUE(beating->longest_wait().awaited.empty());
  job().barrier();
}

}  // namespace
}  // namespace segue

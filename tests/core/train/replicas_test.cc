// Ranks that hold the same pass; one that holds something else is named by all of them.
#include "core/train/replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/train/small_run.h"
#include "tests/distributed/job.h"

namespace segue {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ReplicasTest : public testing::Test {
 protected:
  // The message of all ranks when each checks what it holds.
  std::string complaint() {
    try {
      check_replicas(run_.parts(), job());
    } catch (const PeerError& error) {
      return error.what();
    }
    return "";
  }
  static bool is_last() { return job().rank() == job().size() - 1; }
  static std::string last() { return "rank " + std::to_string(job().size() - 1) + " on "; }

  SmallRun run_{model_variants().front().config(), kCpu};
};

TEST_F(ReplicasTest, TheSameIsAccepted) {
  run_.state.seconds = job().rank();  // each has its own clock
  EXPECT_EQ(complaint(), "");
  run_.train(0, 1);
  EXPECT_EQ(complaint(), "");
}

TEST_F(ReplicasTest, OneBitOfAWeightIsEnough) {
  run_.state.step = 20;
  if (is_last()) run_.problem.parameters.values().as<float>()[7] += 1e-6F;
  EXPECT_THAT(complaint(), AllOf(HasSubstr("step 20: ranks differ in their weights"), HasSubstr(last()),
                                 Not(HasSubstr("rank 0 on "))));
}

TEST_F(ReplicasTest, TheOptimizerAndTheStateAreCompared) {
  if (is_last()) run_.optimizer.moment(1).as<float>()[3] = 1.0F;
  EXPECT_THAT(complaint(), AllOf(HasSubstr("differ in their optimizer"), HasSubstr(last())));
  run_.optimizer.moment(1).as<float>()[3] = 0.0F;
  if (is_last()) run_.state.plateau.bad_evaluations = 1;
  EXPECT_THAT(complaint(), AllOf(HasSubstr("differ in their state"), HasSubstr(last())));
}

TEST_F(ReplicasTest, TheFirstIsNamedWhereMostOthersAgree) {
  if (job().size() < 3) return;
  if (job().is_first()) run_.problem.parameters.values().as<float>()[0] = 5.0F;
  EXPECT_THAT(complaint(), AllOf(HasSubstr("rank 0 on "), Not(HasSubstr("rank 1 on "))));
}

}  // namespace
}  // namespace segue

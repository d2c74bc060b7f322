#include "kernels/thread_team.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <thread>

#include "kernels/queue.h"

namespace segue::kernels {
namespace {

volatile float small_number = 1e-30F;
volatile float subnormal = 1e-40F;

// How many threads of a team of three keep subnormal results, and how many such operands.
struct Kept {
  int results = 0;
  int operands = 0;
  bool operator==(const Kept&) const = default;
};

Kept kept_by_three() {
  int results = 0, operands = 0;
#pragma omp parallel num_threads(3) reduction(+ : results, operands)
  {
    results += small_number * 1e-10F > 0.0F ? 1 : 0;
    operands += subnormal * 1e10F > 0.0F ? 1 : 0;
  }
  return {results, operands};
}

class KeptTeam : public testing::Test {
 protected:
  void TearDown() override { before_.enter(); }

  const ThreadTeam before_ = ThreadTeam::current();
};

TEST_F(KeptTeam, QueueTakesSubnormalNumbersAsZero) {
  const Queue queue(3);
  EXPECT_EQ(kept_by_three(), (Kept{0, 0}));
  EXPECT_EQ(omp_get_max_threads(), 3);
}

TEST_F(KeptTeam, ThreadsThatQueuesEnterDoSo) {
  Queue queue(3);
  Kept before, after;
  std::thread other([&] {
    (ThreadTeam{.threads = 3, .subnormals = 0}).enter();
    before = kept_by_three();
    queue.enter_thread();
    after = kept_by_three();
  });
  other.join();
  EXPECT_EQ(before, (Kept{3, 3}));
  EXPECT_EQ(after, (Kept{0, 0}));
}

TEST_F(KeptTeam, SmallerOneAfterItSetsAllBack) {
  (ThreadTeam{.threads = 1, .subnormals = 0}).enter();
  const ThreadTeam before = ThreadTeam::current();
  { const Queue queue(3); }
  before.enter();
  EXPECT_EQ(omp_get_max_threads(), 1);
  EXPECT_EQ(kept_by_three(), (Kept{3, 3}));
}

}  // namespace
}  // namespace segue::kernels

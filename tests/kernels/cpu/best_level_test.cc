// Which of the levels that the operations are compiled for is chosen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/cpu/operations.h"
#include "tests/kernels/cpu/asked_level.h"
#include "tests/message_of.h"

namespace segue::kernels::cpu {
namespace {

#ifdef SEGUE_HAS_LEVEL_V4
TEST(BestLevel, TheBestThatTheProcessorRuns) {
  const bool has_avx512 = __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  EXPECT_EQ(best_level().level, has_avx512 ? "x86-64-v4" : "x86-64-v3");
}
#else
TEST(BestLevel, TheOnlyOneOfThisBuild) {
  EXPECT_EQ(best_level().level, "x86-64-v3");
  const AskedLevel asked("x86-64-v4");
  EXPECT_EQ(message_of<DeviceError>([] { best_level(); }),
            "SEGUE_CPU_LEVEL: this build has no x86-64-v4; configure it with SEGUE_CPU_LEVELS=v3;v4");
}
#endif

// Also where none can be opened: jobs for one are planned there.
TEST(OperationsOfAGpu, SayWhatItCanDo) {
  EXPECT_EQ(operations_of(DeviceKind::kCuda).widest_head, 128);
  EXPECT_TRUE(operations_of(DeviceKind::kCuda).has_bfloat16_products());
}

TEST(BestLevel, TheOneThatIsAskedFor) {
  const AskedLevel asked("x86-64-v3");
  EXPECT_EQ(best_level().level, "x86-64-v3");
}

TEST(BestLevel, NamesTheLevelsWhenAnotherIsAskedFor) {
  const AskedLevel asked("avx512");
  EXPECT_EQ(message_of<DeviceError>([] { best_level(); }),
            "SEGUE_CPU_LEVEL: expected x86-64-v3 or x86-64-v4, found 'avx512'");
}

}  // namespace
}  // namespace segue::kernels::cpu

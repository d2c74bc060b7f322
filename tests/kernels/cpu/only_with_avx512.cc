// Skips the tests of level x86-64-v4 on a processor that does not run it. Compiled for any.
#include <gtest/gtest.h>

namespace segue::kernels::cpu {
namespace {

class OnlyWithAvx512 final : public testing::Environment {
  void SetUp() override {
    if (__builtin_cpu_supports("avx512bw") == 0 || __builtin_cpu_supports("avx512dq") == 0 ||
        __builtin_cpu_supports("avx512vl") == 0)
      GTEST_SKIP() << "this processor has no AVX-512";
  }
};

const auto* const kOnlyWithAvx512 = testing::AddGlobalTestEnvironment(new OnlyWithAvx512);

}  // namespace
}  // namespace segue::kernels::cpu

// Ends the program of level x86-64-v4's tests as skipped on a processor that does not run that level. Compiled for any,
// and run before what the program's other sources construct, which is compiled for that level.
#include <cstdio>
#include <cstdlib>

namespace segue::kernels::cpu {
namespace {

constexpr int kFirstOfAll = 101;      // the least priority that is not the compiler's own
constexpr int kSkippedForCtest = 77;  // SKIP_RETURN_CODE in tests/kernels/CMakeLists.txt

[[gnu::constructor(kFirstOfAll)]] void skip_without_avx512() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0)
    return;
  std::puts("skipped: this processor has no AVX-512");
  std::fflush(stdout);
  std::_Exit(kSkippedForCtest);
}

}  // namespace
}  // namespace segue::kernels::cpu

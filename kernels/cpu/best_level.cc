// The choice of a level: what the processor reports, against what each level needs.
#include <array>
#include <cstdlib>

#include "base/error.h"
#include "kernels/cpu/operations.h"

namespace segue::kernels::cpu {

namespace x86_64_v3 {
extern const Operations kOperations;
}
namespace x86_64_v4 {
extern const Operations kOperations;
}

namespace {

bool runs_v3() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi2") != 0;
}

bool runs_v4() {
  return runs_v3() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

struct Level {
  const Operations& operations;
  bool (*runs)();
};
const std::array<Level, 2> kBestFirst{{{x86_64_v4::kOperations, runs_v4}, {x86_64_v3::kOperations, runs_v3}}};

}  // namespace

const Operations& best_level() {
  const char* asked = std::getenv("SEGUE_CPU_LEVEL");
  for (const Level& level : kBestFirst) {
    if (asked != nullptr && level.operations.level != asked) continue;
    if (level.runs()) return level.operations;
    if (asked != nullptr) throw DeviceError("SEGUE_CPU_LEVEL: this processor does not run {}", asked);
  }
  if (asked != nullptr) throw DeviceError("SEGUE_CPU_LEVEL: expected x86-64-v3 or x86-64-v4, found '{}'", asked);
  throw DeviceError("processor: expected x86-64-v3 (AVX2, FMA, BMI2) at least, found less");
}

}  // namespace segue::kernels::cpu

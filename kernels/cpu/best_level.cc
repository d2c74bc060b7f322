// The choice of a level: what the processor reports, against what each level needs. A build may have one of them alone.
#include <array>
#include <cstdlib>
#include <string_view>

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

#ifdef SEGUE_HAS_LEVEL_V3
constexpr const Operations* kV3 = &x86_64_v3::kOperations;
#else
constexpr const Operations* kV3 = nullptr;
#endif
#ifdef SEGUE_HAS_LEVEL_V4
constexpr const Operations* kV4 = &x86_64_v4::kOperations;
#else
constexpr const Operations* kV4 = nullptr;
#endif

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
  std::string_view name;
  const Operations* operations;  // null where this build has none
  bool (*runs)();
};
constexpr std::array<Level, 2> kBestFirst{{{"x86-64-v4", kV4, runs_v4}, {"x86-64-v3", kV3, runs_v3}}};

}  // namespace

const Operations& best_level() {
  const char* asked = std::getenv("SEGUE_CPU_LEVEL");
  for (const Level& level : kBestFirst) {
    if (asked != nullptr && level.name != asked) continue;
    if (level.operations != nullptr && level.runs()) return *level.operations;
    if (asked != nullptr && level.operations == nullptr) {
      throw DeviceError("SEGUE_CPU_LEVEL: this build has no {}; configure it with SEGUE_CPU_LEVELS=v3;v4", asked);
    }
    if (asked != nullptr) throw DeviceError("SEGUE_CPU_LEVEL: this processor does not run {}", asked);
  }
  if (asked != nullptr) throw DeviceError("SEGUE_CPU_LEVEL: expected x86-64-v3 or x86-64-v4, found '{}'", asked);
  if (kBestFirst.back().operations == nullptr)
    throw DeviceError(
        "processor: expected x86-64-v4 (AVX-512 F, BW, CD, DQ, VL), for which alone this program was built, "
        "found less; build it here, or with SEGUE_CPU_LEVELS=v3;v4");
  throw DeviceError("processor: expected x86-64-v3 (AVX2, FMA, BMI2) at least, found less");
}

}  // namespace segue::kernels::cpu

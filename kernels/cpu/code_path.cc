// What the processor says it can do, against what each level takes.
#include "kernels/cpu/code_path.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"

namespace segue::kernels::cpu {

namespace x86_64_v3 {
extern const CodePath kCodePath;
}
namespace x86_64_v4 {
extern const CodePath kCodePath;
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
  const CodePath& code_path;
  bool (*runs)();
};
const std::array<Level, 2> kBestFirst{{{x86_64_v4::kCodePath, runs_v4}, {x86_64_v3::kCodePath, runs_v3}}};

// Of the levels that run here: another's code may not even say how much it needs.
template <typename Extents>
int64_t largest_workspace(const Extents& extents, int64_t (*CodePath::*workspace)(const Extents&)) {
  int64_t largest = 0;
  for (const Level& level : kBestFirst)
    if (level.runs()) largest = std::max(largest, (level.code_path.*workspace)(extents));
  return largest;
}

}  // namespace

const CodePath& best_code_path() {
  const char* asked = std::getenv("SEGUE_CPU_LEVEL");
  for (const Level& level : kBestFirst) {
    if (asked != nullptr && level.code_path.level != asked) continue;
    if (level.runs()) return level.code_path;
    if (asked != nullptr) throw DeviceError("SEGUE_CPU_LEVEL: this processor does not run {}", asked);
  }
  if (asked != nullptr) throw DeviceError("SEGUE_CPU_LEVEL: expected x86-64-v3 or x86-64-v4, found '{}'", asked);
  throw DeviceError("processor: expected x86-64-v3 (AVX2, FMA, BMI2) at least, found less");
}

int64_t largest_linear_cross_entropy_workspace(const LinearCrossEntropyExtents& extents) {
  return largest_workspace(extents, &CodePath::linear_cross_entropy_workspace);
}

int64_t largest_relative_attention_workspace(const RelativeAttentionExtents& extents) {
  return largest_workspace(extents, &CodePath::relative_attention_workspace);
}

}  // namespace segue::kernels::cpu

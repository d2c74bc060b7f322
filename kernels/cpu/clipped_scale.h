// The outcome of clip_gradients as a step reads it.
#pragma once

#include <cmath>
#include <optional>

#include "base/tensor.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// The factor of the gradients; nothing when their norm is not finite, and the step is left out.
inline std::optional<float> clipped_scale(ConstTensorView clipped) {
  if (clipped.empty()) return 1.0F;
  const double* outcome = clipped.as<double>();
  if (!std::isfinite(outcome[0])) return std::nullopt;
  return static_cast<float>(outcome[1]);
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

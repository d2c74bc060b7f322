// What devices can and cannot run.
#include "core/model/compute.h"

#include "base/error.h"
#include "kernels/cuda/relative_attention.h"

namespace segue {

Compute compute_of(const ModelConfig& model, PrecisionKind precision, Device device) {
  const bool bf16 = precision == PrecisionKind::kBf16;
  if (!device.is_cuda() && bf16)
    throw ConfigError(R"(precision: expected "fp32" on the CPU, found "bf16", which needs a GPU)");
  if (device.is_cuda() && model.d_head > kernels::cuda::kMaxHeadWidth)
    throw ConfigError("model.d_head: expected at most {} on a GPU, found {}", kernels::cuda::kMaxHeadWidth,
                      model.d_head);
  return {.device = device, .activations = bf16 ? DType::kBFloat16 : DType::kFloat32};
}

}  // namespace segue

// What devices can and cannot run.
#include "core/model/compute.h"

#include "base/error.h"
#include "kernels/cuda/relative_attention.h"

namespace segue {

DType activations_of(PrecisionKind precision, Device device) {
  if (precision == PrecisionKind::kFp32) return DType::kFloat32;
  if (!device.is_cuda()) throw ConfigError(R"(precision: expected "fp32" on the CPU, found "bf16", which needs a GPU)");
  return DType::kBFloat16;
}

Compute compute_of(const ModelConfig& model, PrecisionKind precision, Device device) {
  const DType activations = activations_of(precision, device);
  if (device.is_cuda() && model.d_head > kernels::cuda::kMaxHeadWidth)
    throw ConfigError("model.d_head: expected at most {} on a GPU, found {}", kernels::cuda::kMaxHeadWidth,
                      model.d_head);
  return {.device = device, .activations = activations};
}

}  // namespace segue

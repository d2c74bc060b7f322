#include "core/tape/compute.h"

#include "base/error.h"
#include "kernels/operations.h"

namespace segue {

namespace {

void check_extent(const char* key, int64_t extent, int64_t most, const char* where) {
  if (extent > most) throw ConfigError("{}: expected at most {}{}, found {}", key, most, where, extent);
}

}  // namespace

DType activations_of(PrecisionKind precision, Device device) {
  if (precision == PrecisionKind::kFp32) return DType::kFloat32;
  if (!kernels::has_bfloat16_products(device))
    throw ConfigError(R"(precision: expected "fp32" on this processor, which has no bf16 products, found "bf16")");
  return DType::kBFloat16;
}

Compute compute_of(const ModelConfig& model, PrecisionKind precision, Device device) {
  const DType activations = activations_of(precision, device);
  check_extent("model.d_head", model.d_head, kernels::operations_of(device.kind).widest_head, " on this device");
  check_extent("model.d_model", model.d_model, kernels::kMaxNormWidth, "");
  return {.device = device, .activations = activations};
}

}  // namespace segue

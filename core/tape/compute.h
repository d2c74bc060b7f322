// The device on which a model is computed, and the precision.
#pragma once

#include "base/device.h"
#include "base/tensor.h"
#include "core/config/config.h"

namespace segue {

struct Compute {
  Device device = {};
  DType activations = DType::kFloat32;  // also of matrix products' operands; float32 or bfloat16
};

// Throws ConfigError when the device cannot compute in such a precision.
DType activations_of(PrecisionKind precision, Device device);

// The same, and ConfigError naming the key when the device cannot run such a model.
Compute compute_of(const ModelConfig& model, PrecisionKind precision, Device device);

}  // namespace segue

// On which device a model is computed, and in which precision.
#pragma once

#include "base/device.h"
#include "base/tensor.h"
#include "core/config/config.h"

namespace segue {

struct Compute {
  Device device = {};
  DType activations = DType::kFloat32;  // also of matrix products' operands; bfloat16 on a GPU only
};

// Throws ConfigError naming the key when the device cannot run such a model in such a precision.
Compute compute_of(const ModelConfig& model, PrecisionKind precision, Device device);

}  // namespace segue

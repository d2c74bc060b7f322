// Names and shapes of a Transformer-XL's tensors: Segue's, and those of the authors' PyTorch state_dict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "core/config/model_config.h"

namespace segue {

// One tensor. The original names a tied tensor twice.
struct TensorNames {
  std::string segue;
  std::vector<std::string> original;
  Shape shape;
};

// Every tensor of the model, embedding first, head last. Weights are [out, in] on both sides; nothing is transposed.
std::vector<TensorNames> transformer_xl_names(const ModelConfig& model, int64_t vocab_size);

// The sinusoids' frequencies, which the original stores as a buffer and Segue computes.
inline constexpr const char* kOriginalFrequencies = "pos_emb.inv_freq";

}  // namespace segue

// The four programs whose Transformer-XL Segue reads, and in what their models differ from one another.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/config/kinds.h"

namespace segue {

enum class WeightFormat : uint8_t {
  kTransformerXl,    // the authors' PyTorch code
  kTransformerXlTf,  // the authors' TensorFlow code
  kNvidia,           // NVIDIA's DeepLearningExamples
  kHuggingFace,      // transformers' TransfoXLLMHeadModel
};
std::span<const std::string_view> choices_of(WeightFormat);  // as after --from and --format

// Choices that a program has fixed.
struct FormatTraits {
  std::string_view program;  // its name in messages
  ClusterOrder cluster_order;
  InitialMemory initial_memory;
  bool same_length_extra_key;
  double layer_norm_epsilon;  // Hugging Face's config may have another
  bool biases_per_layer;      // whether the program knows untie_r
};
const FormatTraits& traits_of(WeightFormat format);

}  // namespace segue

// Where a Transformer-XL's tensors stand in the files of other programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "core/config/model_config.h"
#include "core/convert/weight_format.h"

namespace segue {

enum class TensorLayout : uint8_t {
  kSame,          // one tensor, which may stand there under several names
  kTransposed,    // the same, [in, out] where Segue has [out, in]
  kLayerOfStack,  // row `row` of one tensor [n_layer, ...]
  kConcatenated,  // under its names stand its parts, of `parts` rows each
};

struct ForeignTensor {
  std::string segue;
  Shape shape;  // Segue's
  TensorLayout layout = TensorLayout::kSame;
  std::vector<std::string> names;
  int64_t row = 0;
  std::vector<int64_t> parts;
};

// Every parameter of the model, in Segue's order. Throws ConfigError when the cutoffs do not fit into the vocabulary.
std::vector<ForeignTensor> foreign_tensors(WeightFormat format, const ModelConfig& model, int64_t vocab_size);

// The buffer that holds the sinusoids' frequencies, where the program stores it; Segue computes them.
std::string_view frequencies_name(WeightFormat format);

// Whether a tensor of this name is an optimizer's, or a counter.
bool belongs_to_optimizer(WeightFormat format, std::string_view name);

// The format whose files have tensors of these names; `otherwise` when none has.
WeightFormat format_of_names(const std::vector<std::string>& names, WeightFormat otherwise);

}  // namespace segue

// Step codes as in the Universal Transformer (Dehghani et al. 2019, arXiv:1807.03819, section 2.1), learned ones as in
// the authors' Tensor2Tensor.
#include "core/kinds/depth/depth.h"

#include "core/config/depth_kind.h"
#include "core/kinds/block/block.h"

namespace segue {

namespace {

constexpr const char* kStepCodes = "depth.step_codes";

}  // namespace

Depth::Depth(const ModelConfig& model)
    : has_codes_(model.depth.kind == DepthKind::kShared && model.depth.step_codes),
      passes_(model.n_layer),
      d_model_(model.d_model) {}

void Depth::declare(std::vector<ParameterSpec>& specs) const {
  if (has_codes_) specs.push_back({kStepCodes, {passes_, d_model_}});
}

Residual Depth::entered(Tape& tape, Parameters& parameters, int64_t pass, const Residual& residual) const {
  if (!has_codes_) return residual;
  const Value x = sum_of(tape, residual);
  const Shape shape = tape.shape(x.data);
  const Slot first = tape.constant(OwnedTensor(DType::kInt32, {shape[0], shape[1]}), DType::kInt32);  // zeros
  const Value code = embed(tape, first, parameters[kStepCodes].rows(pass, 1), {});
  return {.sum = add(tape, {.sum = x, .branch = code, .site = {}}), .branch = {}, .site = {}};
}

}  // namespace segue

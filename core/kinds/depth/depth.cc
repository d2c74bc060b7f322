// Step codes and halting as in the Universal Transformer (Dehghani et al. 2019, arXiv:1807.03819, section 2): codes
// learned, as in the authors' Tensor2Tensor; a token whose passes weigh enough keeps its row.
#include "core/kinds/depth/depth.h"

#include "core/config/depth_kind.h"
#include "core/kinds/block/block.h"
#include "core/tape/element_gates.h"

namespace segue {

namespace {

constexpr const char* kStepCodes = "depth.step_codes";
constexpr const char* kHalting = "depth.halting.w";
constexpr const char* kHaltingBias = "depth.halting.bias";

}  // namespace

Depth::Depth(const ModelConfig& model)
    : has_codes_(model.depth.kind != DepthKind::kFixed && model.depth.step_codes),
      halts_(model.depth.kind == DepthKind::kHalting),
      passes_(model.n_layer),
      d_model_(model.d_model),
      epsilon_(model.depth.halting_epsilon),
      ponder_(model.depth.ponder_weight),
      bias_(model.depth.halting_bias) {}

void Depth::declare(std::vector<ParameterSpec>& specs) const {
  if (has_codes_) specs.push_back({kStepCodes, {passes_, d_model_}});
  if (!halts_) return;
  specs.push_back({kHalting, {1, d_model_}});
  specs.push_back({kHaltingBias, {1}, Initializer::kConstant, static_cast<float>(bias_)});
}

Depth::Passes::Passes(const Depth& depth, Tape& tape, Parameters& parameters, int64_t tokens)
    : depth_(depth),
      tape_(tape),
      parameters_(parameters),
      rule_{.epsilon = static_cast<float>(depth.epsilon_),
            .ponder = static_cast<float>(depth.ponder_),
            .tokens = tokens} {}

Residual Depth::Passes::entered(int64_t pass, const Residual& residual) {
  if (!depth_.has_codes_ && !depth_.halts_) return residual;
  Value x = before_ = sum_of(tape_, residual);
  if (depth_.has_codes_) {
    const Shape shape = tape_.shape(x.data);
    const Slot first = tape_.constant(OwnedTensor(DType::kInt32, {shape[0], shape[1]}), DType::kInt32);  // zeros
    const Value code = embed(tape_, first, parameters_[kStepCodes].rows(pass, 1), {});
    x = add(tape_, {.sum = x, .branch = code, .site = {}});
  }
  if (depth_.halts_) logits_ = linear(tape_, x, parameters_[kHalting]);
  return {.sum = x, .branch = {}, .site = {}};
}

Residual Depth::Passes::left(int64_t pass, const Residual& residual) {
  if (!depth_.halts_) return residual;
  const bool is_last = pass + 1 == depth_.passes_;
  const Value next =
      add_pass(tape_, halted_, rule_, logits_, parameters_[kHaltingBias], before_, sum_of(tape_, residual), is_last);
  return {.sum = next, .branch = {}, .site = {}};
}

Residual Depth::Passes::output(const Residual& last) {
  if (!depth_.halts_) return last;
  return {.sum = to_activations(tape_, halted_.sum), .branch = {}, .site = {}};
}

}  // namespace segue

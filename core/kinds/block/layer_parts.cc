#include "core/kinds/block/layer_parts.h"

#include <fmt/format.h>

#include <utility>

#include "core/config/block_row.h"

namespace segue {

LayerParts::LayerParts(ModelConfig model, const LayerName& layer, std::unique_ptr<Mixer> mixer)
    : model_(std::move(model)), layer_(layer.number), prefix_(layer.prefix), mixer_(std::move(mixer)) {}

void LayerParts::declare(std::vector<ParameterSpec>& specs) const {
  mixer_->declare(specs);
  declare_layer_norm(norm_name("attention"), model_.d_model, specs);
  specs.push_back({prefix_ + "feed_forward.w1", {model_.d_inner, model_.d_model}});
  specs.push_back({prefix_ + "feed_forward.b1", {model_.d_inner}, Initializer::kZero});
  specs.push_back({prefix_ + "feed_forward.w2", {model_.d_model, model_.d_inner}});
  specs.push_back({prefix_ + "feed_forward.b2", {model_.d_model}, Initializer::kZero});
  declare_layer_norm(norm_name("feed_forward"), model_.d_model, specs);
}

Mixer::Mixed LayerParts::mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const {
  const RecomputedPart part(tape, Recompute::kAttention);
  LayerInputs as_mixed = inputs;
  LayerMemory& memory = as_mixed.memory;
  if (memory.form == Remembered::kHiddenStates && memory.rows.data.exists())
    memory.rows = as_read(tape, parameters, memory.rows);
  return mixer_->mix(tape, parameters, x, as_mixed);
}

Value LayerParts::feed_forward(Tape& tape, Parameters& parameters, const Value& x, int64_t segment) const {
  const std::string prefix = prefix_ + "feed_forward.";
  const FeedForwardParameters network{.w1 = parameters[prefix + "w1"],
                                      .b1 = parameters[prefix + "b1"],
                                      .w2 = parameters[prefix + "w2"],
                                      .b2 = parameters[prefix + "b2"],
                                      .activation = model_.block.activation == ActivationKind::kGelu
                                                        ? kernels::Activation::kGelu
                                                        : kernels::Activation::kRelu};
  return segue::feed_forward(tape, x, network, site(LayerDropout::kHidden, segment));
}

Residual LayerParts::after_attention(const Value& x, const Value& branch, int64_t segment) const {
  return {.sum = x, .branch = branch, .site = site(LayerDropout::kAttentionOutput, segment)};
}

Residual LayerParts::after_feed_forward(const Value& x, const Value& branch, int64_t segment) const {
  return {.sum = x, .branch = branch, .site = site(LayerDropout::kFeedForwardOutput, segment)};
}

LayerNormParameters LayerParts::attention_norm(Parameters& parameters) const {
  return layer_norm(parameters, norm_name("attention"), model_.block.layer_norm_epsilon);
}

LayerNormParameters LayerParts::feed_forward_norm(Parameters& parameters) const {
  return layer_norm(parameters, norm_name("feed_forward"), model_.block.layer_norm_epsilon);
}

Value LayerParts::as_read(Tape& tape, Parameters& parameters, const Value& hidden) const {
  if (!normalises_first()) return hidden;
  return normalise(tape, {.sum = hidden, .branch = {}, .site = {}}, attention_norm(parameters));
}

Value LayerParts::as_constants_read(Tape& tape, Parameters& parameters, const Value& rows) const {
  if (!normalises_first()) return rows;
  return normalise(tape, {.sum = rows, .branch = {}, .site = {}}, attention_norm(parameters).constant());
}

bool LayerParts::normalises_first() const { return row_of(model_.block.kind).normalises_first(model_.block); }

DropoutSite LayerParts::site(LayerDropout place, int64_t segment) const {
  return {.p = model_.dropout, .site = layer_dropout_site(layer_, place), .segment = segment};
}

std::string LayerParts::norm_name(const char* part) const { return fmt::format("{}{}.norm", prefix_, part); }

}  // namespace segue

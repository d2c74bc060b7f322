// The Transformer block, post-norm as published or pre-norm.
#include <fmt/format.h>

#include <utility>

#include "core/model/block.h"
#include "core/model/dropout_sites.h"

namespace segue {

namespace {

class TransformerBlock : public Block {
 public:
  TransformerBlock(ModelConfig model, const Position& position) : model_(std::move(model)), position_(position) {}

  void declare(int64_t layer, std::vector<ParameterSpec>& specs) const override {
    const std::string prefix = fmt::format("layers.{}.", layer);
    const int64_t d_model = model_.d_model;
    const int64_t heads = model_.n_head * model_.d_head;
    specs.push_back({prefix + "attention.qkv", {3 * heads, d_model}});
    position_.declare_layer(layer, specs);
    specs.push_back({prefix + "attention.output", {d_model, heads}});
    declare_norm(prefix + "attention.norm", specs);
    specs.push_back({prefix + "feed_forward.w1", {model_.d_inner, d_model}});
    specs.push_back({prefix + "feed_forward.b1", {model_.d_inner}, Initializer::kZero});
    specs.push_back({prefix + "feed_forward.w2", {d_model, model_.d_inner}});
    specs.push_back({prefix + "feed_forward.b2", {d_model}, Initializer::kZero});
    declare_norm(prefix + "feed_forward.norm", specs);
  }

  LayerOutputs apply(Tape& tape, Parameters& parameters, const Residual& input,
                     const LayerInputs& inputs) const override {
    return model_.block.pre_lnorm ? pre_norm(tape, parameters, input, inputs)
                                  : post_norm(tape, parameters, input, inputs);
  }

  Value keys_and_values(Tape& tape, Parameters& parameters, int64_t layer, const Value& memory) const override {
    const int64_t heads = model_.n_head * model_.d_head;
    const Value read = model_.block.pre_lnorm ? normalise(tape, {.stream = memory, .branch = {}, .site = {}},
                                                          norm(parameters, layer, "attention"))
                                              : memory;
    return linear(tape, read, parameters[fmt::format("layers.{}.attention.qkv", layer)].rows(heads, 2 * heads));
  }

 private:
  // x <- LN(x + attention(x, memory)); x <- LN(x + feed_forward(x))
  LayerOutputs post_norm(Tape& tape, Parameters& parameters, const Residual& input, const LayerInputs& inputs) const {
    const Value& x = input.stream;
    const Attended a = attention(tape, parameters, inputs, x);
    const Value y =
        normalise(tape, after_attention(inputs.layer, x, a.output), norm(parameters, inputs.layer, "attention"));
    const Value f = feed_forward_of(tape, parameters, inputs.layer, y);
    const Value z =
        normalise(tape, after_feed_forward(inputs.layer, y, f), norm(parameters, inputs.layer, "feed_forward"));
    return {.residual = {.stream = z, .branch = {}, .site = {}}, .hidden = x, .qkv = a.qkv};
  }

  // x <- x + attention(LN(x), LN(memory)); x <- x + feed_forward(LN(x)). The last sum waits for the next layer norm.
  LayerOutputs pre_norm(Tape& tape, Parameters& parameters, const Residual& input, const LayerInputs& inputs) const {
    const auto [x, x_normalised] = add_and_normalise(tape, input, norm(parameters, inputs.layer, "attention"));
    const Attended a = attention(tape, parameters, inputs, x_normalised);
    const auto [y, y_normalised] = add_and_normalise(tape, after_attention(inputs.layer, x, a.output),
                                                     norm(parameters, inputs.layer, "feed_forward"));
    const Value f = feed_forward_of(tape, parameters, inputs.layer, y_normalised);
    return {.residual = after_feed_forward(inputs.layer, y, f), .hidden = x, .qkv = a.qkv};
  }

  struct Attended {
    Value output;
    Value qkv;
  };

  // Queries from the segment only, keys and values from memory and segment with today's weights.
  Attended attention(Tape& tape, Parameters& parameters, const LayerInputs& inputs, const Value& x) const {
    const std::string prefix = fmt::format("layers.{}.attention.", inputs.layer);
    const bool is_frozen = inputs.memory_kv.data.exists();
    const Value qkv = linear(tape, x, parameters[prefix + "qkv"]);
    const Value memory_kv =
        is_frozen ? inputs.memory_kv : keys_and_values(tape, parameters, inputs.layer, inputs.memory);
    const Value distances =
        is_frozen ? inputs.distances : position_.distances(tape, parameters, inputs.layer, inputs.encoding);
    const Value attended = position_.attend(tape, parameters, inputs.layer, distances, qkv, memory_kv);
    return {.output = linear(tape, attended, parameters[prefix + "output"]), .qkv = qkv};
  }

  Value feed_forward_of(Tape& tape, Parameters& parameters, int64_t layer, const Value& x) const {
    const std::string prefix = fmt::format("layers.{}.feed_forward.", layer);
    const FeedForwardParameters network{.w1 = parameters[prefix + "w1"],
                                        .b1 = parameters[prefix + "b1"],
                                        .w2 = parameters[prefix + "w2"],
                                        .b2 = parameters[prefix + "b2"],
                                        .activation = model_.block.activation == ActivationKind::kGelu
                                                          ? kernels::Activation::kGelu
                                                          : kernels::Activation::kRelu};
    return feed_forward(tape, x, network, site(layer, LayerDropout::kHidden));
  }

  Residual after_attention(int64_t layer, const Value& x, const Value& branch) const {
    return {.stream = x, .branch = branch, .site = site(layer, LayerDropout::kAttentionOutput)};
  }

  Residual after_feed_forward(int64_t layer, const Value& x, const Value& branch) const {
    return {.stream = x, .branch = branch, .site = site(layer, LayerDropout::kFeedForwardOutput)};
  }

  DropoutSite site(int64_t layer, LayerDropout place) const {
    return {.p = model_.dropout, .site = layer_dropout_site(layer, place)};
  }

  LayerNormParameters norm(Parameters& parameters, int64_t layer, const char* part) const {
    const std::string prefix = fmt::format("layers.{}.{}.norm.", layer, part);
    return {.gain = parameters[prefix + "gain"],
            .bias = parameters[prefix + "bias"],
            .epsilon = static_cast<float>(model_.block.layer_norm_epsilon)};
  }

  void declare_norm(const std::string& prefix, std::vector<ParameterSpec>& specs) const {
    specs.push_back({prefix + ".gain", {model_.d_model}, Initializer::kGain});
    specs.push_back({prefix + ".bias", {model_.d_model}, Initializer::kZero});
  }

  ModelConfig model_;
  const Position& position_;
};

}  // namespace

std::unique_ptr<Block> make_block(const ModelConfig& model, const Position& position) {
  switch (model.block.kind) {
    case BlockKind::kTransformer:
      return std::make_unique<TransformerBlock>(model, position);
  }
  throw ContractError("unknown block kind");
}

}  // namespace segue

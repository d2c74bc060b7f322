// The Transformer block, post-norm as published or pre-norm, around attention or a state.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/config/block_kind.h"
#include "core/config/layers.h"
#include "core/kinds/block/block.h"
#include "core/tape/dropout_sites.h"

namespace segue {

namespace {

class TransformerBlock : public Block {
 public:
  TransformerBlock(ModelConfig model, const LayerName& layer, std::unique_ptr<Mixer> mixer)
      : model_(std::move(model)), layer_(layer.number), prefix_(layer.prefix), mixer_(std::move(mixer)) {}

  void declare(std::vector<ParameterSpec>& specs) const override {
    mixer_->declare(specs);
    declare_layer_norm(norm_name("attention"), model_.d_model, specs);
    specs.push_back({prefix_ + "feed_forward.w1", {model_.d_inner, model_.d_model}});
    specs.push_back({prefix_ + "feed_forward.b1", {model_.d_inner}, Initializer::kZero});
    specs.push_back({prefix_ + "feed_forward.w2", {model_.d_model, model_.d_inner}});
    specs.push_back({prefix_ + "feed_forward.b2", {model_.d_model}, Initializer::kZero});
    declare_layer_norm(norm_name("feed_forward"), model_.d_model, specs);
  }

  LayerOutputs apply(Tape& tape, Parameters& parameters, const Residual& input,
                     const LayerInputs& inputs) const override {
    return model_.block.pre_lnorm ? pre_norm(tape, parameters, input, inputs)
                                  : post_norm(tape, parameters, input, inputs);
  }

  Value keys_and_values(Tape& tape, Parameters& parameters, const Value& hidden, const ModelUse& use) const override {
    return mixer_->keys_and_values(tape, parameters, as_read(tape, parameters, hidden), use);
  }

  std::vector<Value> contents_of(Tape& tape, Parameters& parameters, const LayerOutputs& read,
                                 const std::vector<Value>& memories) const override {
    Value qkv = without_gradient(read.qkv);
    if (mixer_->turns())
      qkv = mixer_->content_of(tape, parameters, as_constants_read(tape, parameters, without_gradient(read.input)));
    std::vector<Value> contexts;
    for (const Value& memory : memories) contexts.push_back(as_constants_read(tape, parameters, memory));
    return mixer_->mixed_by_content(tape, parameters, qkv, contexts);
  }

 private:
  Mixer::Mixed mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const {
    LayerInputs as_mixed = inputs;
    LayerMemory& memory = as_mixed.memory;
    if (memory.form == Remembered::kHiddenStates && memory.rows.data.exists())
      memory.rows = as_read(tape, parameters, memory.rows);
    return mixer_->mix(tape, parameters, x, as_mixed);
  }

  // A memory of hidden states as attention reads it: like x, from behind the same layer norm.
  Value as_read(Tape& tape, Parameters& parameters, const Value& hidden) const {
    if (!model_.block.pre_lnorm) return hidden;
    return normalise(tape, {.sum = hidden, .branch = {}, .site = {}}, norm(parameters, "attention"));
  }

  // The same where neither the rows nor the norm learn from it.
  Value as_constants_read(Tape& tape, Parameters& parameters, const Value& rows) const {
    if (!model_.block.pre_lnorm) return rows;
    return normalise(tape, {.sum = rows, .branch = {}, .site = {}}, norm(parameters, "attention").constant());
  }

  // x <- LN(x + attention(x, memory)); x <- LN(x + feed_forward(x))
  LayerOutputs post_norm(Tape& tape, Parameters& parameters, const Residual& input, const LayerInputs& inputs) const {
    const Value& x = input.sum;
    const Mixer::Mixed a = mix(tape, parameters, x, inputs);
    const Value y = normalise(tape, after_attention(x, a.output, inputs.segment), norm(parameters, "attention"));
    const Value f = feed_forward_of(tape, parameters, y, inputs.segment);
    const Value z = normalise(tape, after_feed_forward(y, f, inputs.segment), norm(parameters, "feed_forward"));
    return {.residual = {.sum = z, .branch = {}, .site = {}},
            .fresh = fresh(x, a, inputs.memory),
            .input = x,
            .qkv = a.qkv,
            .states = a.states};
  }

  // x <- x + attention(LN(x), LN(memory)); x <- x + feed_forward(LN(x)). The last sum waits for the next layer norm.
  LayerOutputs pre_norm(Tape& tape, Parameters& parameters, const Residual& input, const LayerInputs& inputs) const {
    const auto [x, x_normalised] = add_and_normalise(tape, input, norm(parameters, "attention"));
    const Mixer::Mixed a = mix(tape, parameters, x_normalised, inputs);
    const auto [y, y_normalised] =
        add_and_normalise(tape, after_attention(x, a.output, inputs.segment), norm(parameters, "feed_forward"));
    const Value f = feed_forward_of(tape, parameters, y_normalised, inputs.segment);
    return {.residual = after_feed_forward(y, f, inputs.segment),
            .fresh = fresh(x, a, inputs.memory),
            .input = x,
            .qkv = a.qkv,
            .states = a.states};
  }

  Value fresh(const Value& x, const Mixer::Mixed& mixed, const LayerMemory& memory) const {
    if (keeps_state(model_, layer_)) return {};
    return memory.form == Remembered::kHiddenStates ? x : mixed.fresh;
  }

  Value feed_forward_of(Tape& tape, Parameters& parameters, const Value& x, int64_t segment) const {
    const std::string prefix = prefix_ + "feed_forward.";
    const FeedForwardParameters network{.w1 = parameters[prefix + "w1"],
                                        .b1 = parameters[prefix + "b1"],
                                        .w2 = parameters[prefix + "w2"],
                                        .b2 = parameters[prefix + "b2"],
                                        .activation = model_.block.activation == ActivationKind::kGelu
                                                          ? kernels::Activation::kGelu
                                                          : kernels::Activation::kRelu};
    return feed_forward(tape, x, network, site(LayerDropout::kHidden, segment));
  }

  Residual after_attention(const Value& x, const Value& branch, int64_t segment) const {
    return {.sum = x, .branch = branch, .site = site(LayerDropout::kAttentionOutput, segment)};
  }

  Residual after_feed_forward(const Value& x, const Value& branch, int64_t segment) const {
    return {.sum = x, .branch = branch, .site = site(LayerDropout::kFeedForwardOutput, segment)};
  }

  DropoutSite site(LayerDropout place, int64_t segment) const {
    return {.p = model_.dropout, .site = layer_dropout_site(layer_, place), .segment = segment};
  }

  LayerNormParameters norm(Parameters& parameters, const char* part) const {
    return layer_norm(parameters, norm_name(part), model_.block.layer_norm_epsilon);
  }

  std::string norm_name(const char* part) const { return fmt::format("{}{}.norm", prefix_, part); }

  ModelConfig model_;
  int64_t layer_;
  std::string prefix_;  // of its parameters' names
  std::unique_ptr<Mixer> mixer_;
};

}  // namespace

Value sum_of(Tape& tape, const Residual& residual) {
  return residual.branch.data.exists() ? add(tape, residual) : residual.sum;
}

Value output_of_layers(Tape& tape, Parameters& parameters, const Residual& residual, const BlockConfig& block,
                       const std::string& norm) {
  if (block.final_norm) return normalise(tape, residual, layer_norm(parameters, norm, block.layer_norm_epsilon));
  return sum_of(tape, residual);
}

std::unique_ptr<Block> make_block(const ModelConfig& model, const Position& position,
                                  std::shared_ptr<Schedules> schedules, const LayerName& layer,
                                  std::unique_ptr<AttentionMemory> memory) {
  switch (model.block.kind) {
    case BlockKind::kTransformer:
      return std::make_unique<TransformerBlock>(
          model, layer, make_mixer(model, position, std::move(schedules), layer, std::move(memory)));
  }
  throw ContractError("unknown block kind");
}

}  // namespace segue

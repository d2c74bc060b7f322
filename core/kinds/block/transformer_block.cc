// The Transformer block, post-norm as published or pre-norm, of layers that attend and of layers that keep a state.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/attention/state_attention.h"
#include "core/config/block_kind.h"
#include "core/config/layers.h"
#include "core/kinds/block/block.h"
#include "core/tape/dropout_sites.h"

namespace segue {

namespace {

class TransformerBlock : public Block {
 public:
  TransformerBlock(ModelConfig model, const LayerName& layer)
      : model_(std::move(model)), layer_(layer.number), prefix_(layer.prefix) {}

  void declare(std::vector<ParameterSpec>& specs) const override {
    declare_attention(specs);
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

  std::vector<Value> contents_of(Tape& /*tape*/, Parameters& /*parameters*/, const LayerOutputs& /*read*/,
                                 const std::vector<Value>& /*memories*/) const override {
    throw ContractError("a layer with a state has no rows of memory");
  }

  Value keys_and_values(Tape& /*tape*/, Parameters& /*parameters*/, const Value& /*hidden*/,
                        const ModelUse& /*use*/) const override {
    throw ContractError("a layer with a state has no keys");
  }

 protected:
  // What a layer makes of x [B, T, D], which is behind its layer norm with pre_lnorm.
  struct Mixed {
    Value output;                    // [B, T, D]
    Value fresh = {}, qkv = {};      // as of LayerOutputs
    std::vector<Value> states = {};  // the same
  };
  virtual void declare_attention(std::vector<ParameterSpec>& specs) const = 0;
  virtual Mixed mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const = 0;

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

 private:
  // x <- LN(x + attention(x, memory)); x <- LN(x + feed_forward(x))
  LayerOutputs post_norm(Tape& tape, Parameters& parameters, const Residual& input, const LayerInputs& inputs) const {
    const Value& x = input.sum;
    const Mixed a = mix(tape, parameters, x, inputs);
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
    const Mixed a = mix(tape, parameters, x_normalised, inputs);
    const auto [y, y_normalised] =
        add_and_normalise(tape, after_attention(x, a.output, inputs.segment), norm(parameters, "feed_forward"));
    const Value f = feed_forward_of(tape, parameters, y_normalised, inputs.segment);
    return {.residual = after_feed_forward(y, f, inputs.segment),
            .fresh = fresh(x, a, inputs.memory),
            .input = x,
            .qkv = a.qkv,
            .states = a.states};
  }

  Value fresh(const Value& x, const Mixed& mixed, const LayerMemory& memory) const {
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
};

class AttentionBlock : public TransformerBlock {
 public:
  AttentionBlock(const ModelConfig& model, const Position& position, std::shared_ptr<Schedules> schedules,
                 const LayerName& layer, std::unique_ptr<AttentionMemory> memory)
      : TransformerBlock(model, layer), attention_(model, position, std::move(schedules), layer, std::move(memory)) {}

  Value keys_and_values(Tape& tape, Parameters& parameters, const Value& hidden, const ModelUse& use) const override {
    return attention_.keys_and_values(tape, parameters, as_read(tape, parameters, hidden), use);
  }

  std::vector<Value> contents_of(Tape& tape, Parameters& parameters, const LayerOutputs& read,
                                 const std::vector<Value>& memories) const override {
    Value qkv = without_gradient(read.qkv);
    if (attention_.turns())
      qkv = attention_.record_content(tape, parameters,
                                      as_constants_read(tape, parameters, without_gradient(read.input)));
    std::vector<Value> contexts;
    for (const Value& memory : memories) contexts.push_back(as_constants_read(tape, parameters, memory));
    return attention_.record_of_content(tape, parameters, qkv, contexts);
  }

 protected:
  void declare_attention(std::vector<ParameterSpec>& specs) const override { attention_.declare(specs); }

  Mixed mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const override {
    LayerInputs as_attended = inputs;
    LayerMemory& memory = as_attended.memory;
    if (memory.form == Remembered::kHiddenStates) memory.rows = as_read(tape, parameters, memory.rows);
    const Attention::Recorded a = attention_.record(tape, parameters, x, as_attended);
    return {.output = a.output, .fresh = a.fresh, .qkv = a.qkv, .states = a.states};
  }

 private:
  Attention attention_;
};

class StateBlock : public TransformerBlock {
 public:
  StateBlock(const ModelConfig& model, const LayerName& layer)
      : TransformerBlock(model, layer), attention_(model, layer) {}

 protected:
  void declare_attention(std::vector<ParameterSpec>& specs) const override { attention_.declare(specs); }

  Mixed mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const override {
    const StateAttention::Recorded a = attention_.record(tape, parameters, x, inputs);
    return {.output = a.output, .states = a.states};
  }

 private:
  StateAttention attention_;
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
      if (keeps_state(model, layer.number)) return std::make_unique<StateBlock>(model, layer);
      return std::make_unique<AttentionBlock>(model, position, std::move(schedules), layer, std::move(memory));
  }
  throw ContractError("unknown block kind");
}

}  // namespace segue

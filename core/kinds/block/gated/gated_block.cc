// The block of GTrXL (Parisotto et al. 2019): layer norms before attention and feed-forward, a rectifier behind each,
// and gates in place of residual sums.
#include <utility>

#include "core/kinds/block/block.h"
#include "core/kinds/block/gated/gates.h"

namespace segue {

namespace {

class GatedBlock : public Block {
 public:
  explicit GatedBlock(LayerParts parts)
      : Block(std::move(parts)),
        attention_gate_(gate("attention.gate.")),
        feed_forward_gate_(gate("feed_forward.gate.")) {}

  void declare(std::vector<ParameterSpec>& specs) const override {
    Block::declare(specs);
    attention_gate_.declare(specs);
    feed_forward_gate_.declare(specs);
  }

  // x <- gate(x, relu(attention(LN(x), LN(memory)))); x <- gate(x, relu(feed_forward(LN(x))))
  LayerOutputs apply(Tape& tape, Parameters& parameters, const Residual& input,
                     const LayerInputs& inputs) const override {
    const int64_t segment = inputs.segment;
    const auto [x, x_normalised] = add_and_normalise(tape, input, parts().attention_norm(parameters));
    const Mixer::Mixed a = parts().mix(tape, parameters, x_normalised, inputs);
    const Value y = joined(tape, parameters, attention_gate_, parts().after_attention(x, a.output, segment));
    const Value y_normalised =
        normalise(tape, {.sum = y, .branch = {}, .site = {}}, parts().feed_forward_norm(parameters));
    const Value f = parts().feed_forward(tape, parameters, y_normalised, segment);
    const Value z = joined(tape, parameters, feed_forward_gate_, parts().after_feed_forward(y, f, segment));
    return outputs({.sum = z, .branch = {}, .site = {}}, x, a, inputs);
  }

 private:
  BranchGate gate(const char* name) const {
    return {parts().model().block, parts().model().d_model, parts().prefix() + name};
  }

  static Value joined(Tape& tape, Parameters& parameters, const BranchGate& gate, const Residual& residual) {
    return gate.apply(tape, parameters, residual.sum, dropout(tape, rectify(tape, residual.branch), residual.site));
  }

  BranchGate attention_gate_, feed_forward_gate_;
};

}  // namespace

std::unique_ptr<Block> make_gated_block(LayerParts parts) { return std::make_unique<GatedBlock>(std::move(parts)); }

}  // namespace segue

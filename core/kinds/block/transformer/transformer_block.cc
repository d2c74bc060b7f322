// The Transformer block, post-norm as published or pre-norm, around attention or a state.
#include <utility>

#include "core/kinds/block/block.h"

namespace segue {

namespace {

class TransformerBlock : public Block {
 public:
  using Block::Block;

  LayerOutputs apply(Tape& tape, Parameters& parameters, const Residual& input,
                     const LayerInputs& inputs) const override {
    return parts().model().block.pre_lnorm ? pre_norm(tape, parameters, input, inputs)
                                           : post_norm(tape, parameters, input, inputs);
  }

 private:
  // x <- LN(x + attention(x, memory)); x <- LN(x + feed_forward(x))
  LayerOutputs post_norm(Tape& tape, Parameters& parameters, const Residual& input, const LayerInputs& inputs) const {
    const int64_t segment = inputs.segment;
    const Value& x = input.sum;
    const Mixer::Mixed a = parts().mix(tape, parameters, x, inputs);
    const Value y = normalise(tape, parts().after_attention(x, a.output, segment), parts().attention_norm(parameters));
    const Value f = parts().feed_forward(tape, parameters, y, segment);
    const Value z = normalise(tape, parts().after_feed_forward(y, f, segment), parts().feed_forward_norm(parameters));
    return outputs({.sum = z, .branch = {}, .site = {}}, x, a, inputs);
  }

  // x <- x + attention(LN(x), LN(memory)); x <- x + feed_forward(LN(x)). The last sum waits for the next layer norm.
  LayerOutputs pre_norm(Tape& tape, Parameters& parameters, const Residual& input, const LayerInputs& inputs) const {
    const int64_t segment = inputs.segment;
    const auto [x, x_normalised] = add_and_normalise(tape, input, parts().attention_norm(parameters));
    const Mixer::Mixed a = parts().mix(tape, parameters, x_normalised, inputs);
    const auto [y, y_normalised] =
        add_and_normalise(tape, parts().after_attention(x, a.output, segment), parts().feed_forward_norm(parameters));
    const Value f = parts().feed_forward(tape, parameters, y_normalised, segment);
    return outputs(parts().after_feed_forward(y, f, segment), x, a, inputs);
  }
};

}  // namespace

std::unique_ptr<Block> make_transformer_block(LayerParts parts) {
  return std::make_unique<TransformerBlock>(std::move(parts));
}

}  // namespace segue

// The reversible layer (Gomez et al. 2017, arXiv:1707.04585; Kitaev et al. 2020, arXiv:2001.04451, "Reformer", section
// 3): two streams, of which attention adds to the one what it makes of the other, and feed-forward the other way round.
// So backward can take away again what was added, and no layer keeps its activations.
#include <utility>

#include "core/kinds/block/block.h"
#include "core/tape/element_gates.h"
#include "core/tape/reversible.h"

namespace segue {

namespace {

class ReversibleBlock : public Block {
 public:
  using Block::Block;

  // a <- a + attention(LN(b), LN(memory)); b <- b + feed_forward(LN(a)). Memory keeps b as it came.
  LayerOutputs apply(Tape& tape, Parameters& parameters, const Residual& input,
                     const LayerInputs& inputs) const override {
    const Streams before = streams_of(tape, input);
    const Value x = copy_of_stream(tape, before.b);
    Mixer::Mixed mixed;
    const Value a_after = added(tape, before.a, [&] {
      const Value read = normalised(tape, before.b, parts().attention_norm(parameters));
      mixed = parts().mix(tape, parameters, read, inputs);
      return parts().after_attention({}, mixed.output, inputs.segment);
    });
    const Value b_after = added(tape, before.b, [&] {
      const Value read = normalised(tape, a_after, parts().feed_forward_norm(parameters));
      return parts().after_feed_forward({}, parts().feed_forward(tape, parameters, read, inputs.segment),
                                        inputs.segment);
    });
    return outputs({.sum = b_after, .branch = {}, .site = {}, .beside = a_after}, x, mixed, inputs);
  }

 private:
  struct Streams {
    Value a, b;
  };

  // Both begin as what enters the first layer.
  static Streams streams_of(Tape& tape, const Residual& input) {
    if (input.beside.data.exists()) return {.a = input.beside, .b = input.sum};
    const Value x = sum_of(tape, input);
    return {.a = reversible_stream(tape, x), .b = reversible_stream(tape, x)};
  }

  static Value normalised(Tape& tape, const Value& stream, const LayerNormParameters& norm) {
    return normalise(tape, {.sum = to_activations(tape, stream), .branch = {}, .site = {}}, norm);
  }

  // The stream with a branch added, which backward computes again.
  template <typename Branch>
  static Value added(Tape& tape, const Value& stream, const Branch& record) {
    const RecomputedPart part(tape);
    const Residual residual = record();
    return add_reversibly(tape, stream, dropout(tape, residual.branch, residual.site));
  }
};

}  // namespace

std::unique_ptr<Block> make_reversible_block(LayerParts parts) {
  return std::make_unique<ReversibleBlock>(std::move(parts));
}

}  // namespace segue

// The loss of a plain softmax as an operation of the tape.
#include "core/tape/operations.h"
#include "core/tape/rows.h"
#include "kernels/cross_entropy.h"

namespace segue {

using kernels::Queue;

TokenLoss cross_entropy(Tape& tape, const Value& logits, const Parameter& bias, const TokenTargets& asked) {
  const Slot targets = asked.tokens;
  const int64_t rows = tape.shape(targets).elements();
  const TokenLoss loss{.nll = tape.new_slot({rows}), .margin = asked.margins ? tape.new_slot({rows}) : Slot{}};
  const Slot lse = tape.new_slot({rows});
  tape.keep(loss.nll);
  tape.keep(loss.margin);
  const GradientUse dlogits = tape.overwrite_gradient(logits);
  if (dlogits.exists()) tape.overwrite(dlogits.slot, logits.data);  // the gradient overwrites the logits
  tape.record({
      .name = "cross_entropy",
      .forward_slots = {logits.data, loss.nll, loss.margin, lse},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::cross_entropy_forward(queue, {.logits = rows_of(tape.read(logits.data)),
                                                   .bias = bias.value,
                                                   .targets = tape.read(targets).reshaped({rows}),
                                                   .nll = tape.write(loss.nll),
                                                   .lse = tape.write(lse),
                                                   .margin = tape.write(loss.margin)});
          },
      .backward_slots = {logits.data, lse, dlogits.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::cross_entropy_backward(queue, {.logits = rows_of(tape.write(dlogits)),
                                                    .bias = bias.value,
                                                    .targets = tape.read(targets).reshaped({rows}),
                                                    .lse = tape.read(lse),
                                                    .scale = tape.info().loss_scale,
                                                    .dbias = bias.gradient});
          },
      .parameter_gradients = {bias.gradient},
  });
  return loss;
}

}  // namespace segue

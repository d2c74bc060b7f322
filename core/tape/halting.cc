#include "core/tape/halting.h"

#include <utility>
#include <vector>

#include "core/tape/rows.h"
#include "kernels/halting.h"

namespace segue {

using kernels::Queue;

namespace {

template <typename View>
View as_list(const View& view) {
  return view.empty() ? View{} : view.reshaped({view.elements()});
}

Value new_floats(Tape& tape, const Shape& shape) {
  return {.data = tape.new_slot(shape), .gradient = tape.training() ? tape.new_slot(shape) : Slot{}};
}

struct Weighed {
  Value weights;  // [B, T] float32
  Value totals;   // [B, T] float32; none after the last pass
};

Weighed weigh(Tape& tape, const HaltedPasses& passes, const HaltingRule& rule, const Value& logits,
              const Parameter& bias, bool is_last) {
  const Shape logit_shape = tape.shape(logits.data);
  const Shape tokens{logit_shape[0], logit_shape[1]};
  const Weighed made{.weights = new_floats(tape, tokens), .totals = is_last ? Value() : new_floats(tape, tokens)};
  const Value before = passes.totals;
  const Slot count = passes.passes;
  const GradientUse dlogits = tape.overwrite_gradient(logits);
  const GradientUse dtotals = tape.overwrite_gradient(before);
  const TensorView dbias = bias.gradient;
  std::vector<ConstTensorView> gradients;
  if (!dbias.empty()) gradients.emplace_back(dbias);
  const auto inputs = [=, &tape] {
    return kernels::HaltingInputs{.logits = as_list(tape.read(logits.data)),
                                  .bias = bias.value,
                                  .totals = as_list(tape.read(before.data)),
                                  .epsilon = rule.epsilon,
                                  .is_last = is_last};
  };
  tape.record({
      .name = "halting",
      .forward_slots = {logits.data, before.data, made.weights.data, made.totals.data, count},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::halting_forward(queue, {.in = inputs(),
                                             .weights = as_list(tape.write(made.weights.data)),
                                             .new_totals = as_list(tape.write(made.totals.data)),
                                             .passes = as_list(tape.write(count))});
          },
      .backward_slots = {logits.data, before.data, made.weights.gradient, made.totals.gradient, dlogits.slot,
                         dtotals.slot},
      .backward =
          [=, &tape](Queue& queue) {
            const float share = tape.info().stream_share / static_cast<float>(rule.tokens);
            kernels::halting_backward(queue, {.in = inputs(),
                                              .dweights = as_list(tape.read(made.weights.gradient)),
                                              .dnew_totals = as_list(tape.read(made.totals.gradient)),
                                              .ponder = rule.ponder * share,
                                              .dlogits = as_list(tape.write(dlogits)),
                                              .dtotals = as_list(tape.write(dtotals)),
                                              .dbias = dbias});
          },
      .parameter_gradients = std::move(gradients),
  });
  return made;
}

}  // namespace

Value add_pass(Tape& tape, HaltedPasses& passes, const HaltingRule& rule, const Value& logits, const Parameter& bias,
               const Value& before, const Value& x, bool is_last) {
  const Shape shape = tape.shape(x.data);
  const bool is_first = !passes.sum.data.exists();
  if (is_first) {
    passes.passes = tape.new_slot({shape[0], shape[1]});
    tape.keep(passes.passes);
  }
  const Value totals = passes.totals;
  const Weighed weighed = weigh(tape, passes, rule, logits, bias, is_last);
  const Value weights = weighed.weights;
  const Value sum =
      is_first ? new_floats(tape, shape) : Value{.data = tape.new_slot(shape), .gradient = passes.sum.gradient};
  if (!is_first) tape.overwrite(sum.data, passes.sum.data);
  const bool keeps_some = !is_first && !is_last;
  const Value y = keeps_some ? tape.new_value(shape) : Value();
  const Value old = keeps_some ? before : Value();
  const GradientUse dx = tape.use_gradient(x), dold = tape.use_gradient(old);
  const GradientUse dweights = tape.overwrite_gradient(weights);
  tape.record({
      .name = "halted_rows",
      .forward_slots = {x.data, old.data, totals.data, weights.data, sum.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::halted_rows_forward(queue, {.x = rows_of(tape.read(x.data)),
                                                 .before = rows_of(tape.read(old.data)),
                                                 .totals = as_list(tape.read(totals.data)),
                                                 .weights = as_list(tape.read(weights.data)),
                                                 .sum = rows_of(tape.write(sum.data)),
                                                 .y = rows_of(tape.write(y.data))});
          },
      .backward_slots = {x.data, totals.data, weights.data, sum.gradient, y.gradient, dx.slot, dold.slot,
                         dweights.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::halted_rows_backward(queue, {.x = rows_of(tape.read(x.data)),
                                                  .totals = as_list(tape.read(totals.data)),
                                                  .weights = as_list(tape.read(weights.data)),
                                                  .dsum = rows_of(tape.read(sum.gradient)),
                                                  .dy = rows_of(tape.read(y.gradient)),
                                                  .dx = rows_of(tape.write(dx)),
                                                  .accumulate_dx = tape.accumulates(dx),
                                                  .dbefore = rows_of(tape.write(dold)),
                                                  .accumulate_dbefore = tape.accumulates(dold),
                                                  .dweights = as_list(tape.write(dweights))});
          },
  });
  passes.totals = weighed.totals;
  passes.sum = sum;
  if (is_last) return {};
  return is_first ? x : y;
}

}  // namespace segue

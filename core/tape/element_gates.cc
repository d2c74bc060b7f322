#include "core/tape/element_gates.h"

#include <utility>
#include <vector>

#include "core/tape/rows.h"
#include "kernels/convert.h"
#include "kernels/element_gate.h"

namespace segue {

using kernels::Queue;

namespace {

kernels::ElementGateInputs inputs_of(const Tape& tape, const ElementGate& gate) {
  return {.a = rows_of(tape.read(gate.a.data)),
          .is_bounded = gate.is_bounded,
          .b = rows_of(tape.read(gate.b.data)),
          .logits = rows_of(tape.read(gate.logits.data)),
          .bias = gate.bias ? ConstTensorView(gate.bias->value) : ConstTensorView(),
          .bias_factor = gate.bias_factor};
}

kernels::ElementGateGradient gradient_at(const Tape& tape, const GradientUse& use) {
  return {.to = rows_of(tape.write(use)), .accumulate = tape.accumulates(use)};
}

}  // namespace

Value element_gate(Tape& tape, const ElementGate& gate) {
  const TensorView dbias = gate.bias ? gate.bias->gradient : TensorView();
  const bool is_learned =
      gate.a.gradient.exists() || gate.b.gradient.exists() || gate.logits.gradient.exists() || !dbias.empty();
  const Value y = tape.new_value(tape.shape(gate.a.data), is_learned);
  const GradientUse da = tape.use_gradient(gate.a), db = tape.use_gradient(gate.b);
  const GradientUse dlogits = tape.use_gradient(gate.logits);
  std::vector<ConstTensorView> gradients;
  if (!dbias.empty()) gradients.emplace_back(dbias);
  tape.record({
      .name = "element_gate",
      .forward_slots = {gate.a.data, gate.b.data, gate.logits.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::element_gate_forward(queue, {.in = inputs_of(tape, gate), .y = rows_of(tape.write(y.data))});
          },
      .backward_slots = {gate.a.data, gate.b.data, gate.logits.data, y.gradient, da.slot, db.slot, dlogits.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::element_gate_backward(queue, {.in = inputs_of(tape, gate),
                                                   .dy = rows_of(tape.read(y.gradient)),
                                                   .da = gradient_at(tape, da),
                                                   .db = gradient_at(tape, db),
                                                   .dlogits = gradient_at(tape, dlogits),
                                                   .dbias = dbias});
          },
      .parameter_gradients = std::move(gradients),
      .is_learned = is_learned,
  });
  return y;
}

Value copied_as(Tape& tape, const Value& x, DType dtype) {
  const Shape shape = tape.shape(x.data);
  const bool is_learned = x.gradient.exists();
  const Value y{.data = tape.new_slot(shape, dtype), .gradient = is_learned ? tape.new_slot(shape, dtype) : Slot{}};
  const GradientUse dx = tape.use_gradient(x);
  tape.record({
      .name = "copy",
      .forward_slots = {x.data, y.data},
      .forward = [=,
                  &tape](Queue& queue) { kernels::convert(queue, {.x = tape.read(x.data), .y = tape.write(y.data)}); },
      .backward_slots = {y.gradient, dx.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::convert(queue,
                             {.x = tape.read(y.gradient), .y = tape.write(dx), .accumulate = tape.accumulates(dx)});
          },
      .is_learned = is_learned,
  });
  return y;
}

Value to_activations(Tape& tape, const Value& x) {
  return tape.activations() == DType::kFloat32 ? x : copied_as(tape, x, tape.activations());
}

Value to_floats(Tape& tape, const Value& x) {
  return tape.activations() == DType::kFloat32 ? x : copied_as(tape, x, DType::kFloat32);
}

}  // namespace segue

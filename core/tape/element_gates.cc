// Kernels of states and shares, put to another use: a state of one key is a row of float32, and a share of every head
// is one of every column where heads are one column wide.
#include "core/tape/element_gates.h"

#include <algorithm>
#include <utility>

#include "kernels/blend.h"
#include "kernels/dropout.h"
#include "kernels/state_read.h"
#include "kernels/state_scan.h"

namespace segue {

using kernels::Queue;

Product added_bias(Tape& tape, const Shape& rows, const Parameter& bias, float factor) {
  OwnedTensor factors(DType::kFloat32, {rows[0], rows[1], 1});
  std::fill_n(factors.as<float>(), factors.shape().elements(), factor);
  const auto column = [](const TensorView& view) {
    return view.empty() ? view : view.reshaped({view.shape.elements(), 1});
  };
  return {.x = {.data = tape.constant(factors, tape.activations()), .gradient = {}},
          .weight = {column(bias.value), column(bias.gradient), column(bias.copy)}};
}

namespace {

// Rows as states of one key, of which a query that is 1 reads all.
struct AsStates {
  Shape states, values;  // [B, N, 1, V], [B, 1, N, V]
  Slot ones;             // [B, 1, N, 1]: the query
};

AsStates as_states(Tape& tape, const Shape& shape) {
  int64_t width = std::min(shape[2], kernels::kMaxStateValues);
  while (shape[2] % width != 0) --width;
  const int64_t heads = shape[1] * shape[2] / width;
  OwnedTensor ones(DType::kFloat32, {shape[0], 1, heads, 1});
  std::fill_n(ones.as<float>(), ones.shape().elements(), 1.0F);
  return {.states = {shape[0], heads, 1, width},
          .values = {shape[0], 1, heads, width},
          .ones = tape.constant(ones, tape.activations())};
}

void read_rows(Queue& queue, const Tape& tape, const AsStates& as, ConstTensorView floats, TensorView to) {
  kernels::state_read_forward(
      queue, {.q = tape.read(as.ones), .state = floats.reshaped(as.states), .output = to.reshaped(as.values)});
}

// What would be passed to a state whose reader receives so much. `state` [B, R, D] float32 is one that nobody reads.
void write_rows(Queue& queue, const Tape& tape, const AsStates& as, ConstTensorView from, ConstTensorView state,
                TensorView floats, bool accumulate = false) {
  kernels::state_read_backward(queue, {.q = tape.read(as.ones),
                                       .state = state.reshaped(as.states),
                                       .doutput = from.reshaped(as.values),
                                       .dq = {},
                                       .dstate = floats.reshaped(as.states),
                                       .accumulate = accumulate});
}

}  // namespace

Value to_activations(Tape& tape, const Value& x) {
  if (tape.activations() == DType::kFloat32) return x;
  const Shape shape = tape.shape(x.data);
  const AsStates as = as_states(tape, shape);
  const bool is_learned = x.gradient.exists();
  const Value y = tape.new_value(shape, is_learned);
  const GradientUse dx = tape.use_gradient(x);
  tape.record({
      .name = "to_activations",
      .forward_slots = {x.data, as.ones, y.data},
      .forward = [=, &tape](Queue& queue) { read_rows(queue, tape, as, tape.read(x.data), tape.write(y.data)); },
      .backward_slots = {x.data, y.gradient, as.ones, dx.slot},
      .backward =
          [=, &tape](Queue& queue) {
            write_rows(queue, tape, as, tape.read(y.gradient), tape.read(x.data), tape.write(dx), tape.accumulates(dx));
          },
      .is_learned = is_learned,
  });
  return y;
}

Value to_floats(Tape& tape, const Value& x) {
  if (tape.activations() == DType::kFloat32) return x;
  const Shape shape = tape.shape(x.data);
  const AsStates as = as_states(tape, shape);
  const bool is_learned = x.gradient.exists();
  const Value y{.data = tape.new_slot(shape),
                .gradient = tape.training() && is_learned ? tape.new_slot(shape) : Slot{}};
  const Slot unread = tape.new_slot(shape);
  const GradientUse dx = tape.overwrite_gradient(x);
  tape.record({
      .name = "to_floats",
      .forward_slots = {x.data, as.ones, unread, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            write_rows(queue, tape, as, tape.read(x.data), tape.read(unread), tape.write(y.data));
          },
      .backward_slots = {y.gradient, as.ones, dx.slot},
      .backward = [=, &tape](Queue& queue) { read_rows(queue, tape, as, tape.read(y.gradient), tape.write(dx)); },
      .is_learned = is_learned,
  });
  return y;
}

namespace {

// Logits of a blend: where they are at a replay, and where their gradients go.
struct Logits {
  Shape rows;  // of a and b: [R, N, 1]
  Slot data;   // or none: a parameter's
  GradientUse use;
  Parameter parameter;
  bool is_learned = false;
};

Value record_blend(Tape& tape, const Value& a, const Value& b, const Logits& logits) {
  const Shape shape = tape.shape(a.data);
  const bool is_learned = a.gradient.exists() || b.gradient.exists() || logits.is_learned;
  const bool goes_back = tape.training() && is_learned;
  const Value y = tape.new_value(shape, is_learned);
  const GradientUse da = tape.use_gradient(a), db = tape.use_gradient(b);
  // What lives in one pass alone: zeros in the place of b, and gradients that are added to those of others, or that
  // nobody reads.
  const auto passing = [&](bool is_needed) { return is_needed ? tape.new_slot(shape, tape.activations()) : Slot{}; };
  const bool lacks_b = !b.data.exists();
  const Slot zeros = passing(lacks_b), zeros_again = passing(lacks_b && goes_back);
  const Slot own_da = passing(goes_back), own_db = passing(goes_back);
  const Shape flat{logits.rows[1]};
  const auto values = [=, &tape] {
    return logits.data.exists() ? tape.read(logits.data).reshaped(flat) : ConstTensorView(logits.parameter.value);
  };
  const auto others = [=, &tape](Queue& queue, Slot none) {
    if (!lacks_b) return tape.read(b.data);
    const TensorView filled = tape.write(none);
    queue.fill_zero(filled);
    return ConstTensorView(filled);
  };
  std::vector<ConstTensorView> gradients;
  if (!logits.data.exists() && logits.is_learned) gradients.emplace_back(logits.parameter.gradient);
  tape.record({
      .name = "blend",
      .forward_slots = {a.data, b.data, zeros, logits.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::blend_forward(queue, {.a = tape.read(a.data).reshaped(logits.rows),
                                           .b = others(queue, zeros).reshaped(logits.rows),
                                           .logits = values(),
                                           .y = tape.write(y.data).reshaped(logits.rows)});
          },
      .backward_slots = {a.data, b.data, zeros_again, logits.data, y.gradient, da.slot, own_da, db.slot, own_db,
                         logits.use.slot},
      .backward =
          [=, &tape](Queue& queue) {
            const auto place = [&tape](const GradientUse& use, Slot own) {
              return use.exists() && !tape.accumulates(use) ? tape.write(use) : tape.write(own);
            };
            const auto add = [&](const GradientUse& use, Slot own) {
              if (tape.accumulates(use))
                kernels::dropout_backward(queue, {.dy = tape.read(own), .dx = tape.write(use), .accumulate = true});
            };
            TensorView dlogits = logits.parameter.gradient;
            if (logits.data.exists()) {
              dlogits = tape.write(logits.use).reshaped(flat);
              queue.fill_zero(dlogits);
            }
            kernels::blend_backward(queue, {.a = tape.read(a.data).reshaped(logits.rows),
                                            .b = others(queue, zeros_again).reshaped(logits.rows),
                                            .logits = values(),
                                            .dy = tape.read(y.gradient).reshaped(logits.rows),
                                            .da = place(da, own_da).reshaped(logits.rows),
                                            .db = place(db, own_db).reshaped(logits.rows),
                                            .dlogits = dlogits});
            add(da, own_da);
            add(db, own_db);
          },
      .parameter_gradients = std::move(gradients),
      .is_learned = is_learned,
  });
  return y;
}

}  // namespace

Value blend_columns(Tape& tape, const Value& a, const Value& b, const Parameter& logits) {
  const Shape shape = tape.shape(a.data);
  return record_blend(tape, a, b,
                      {.rows = {shape[0] * shape[1], shape[2], 1},
                       .data = {},
                       .use = {},
                       .parameter = logits,
                       .is_learned = !logits.is_constant()});
}

Value blend_elements(Tape& tape, const Value& a, const Value& b, const Value& logits) {
  return record_blend(tape, a, b,
                      {.rows = {1, tape.shape(a.data).elements(), 1},
                       .data = logits.data,
                       .use = tape.overwrite_gradient(logits),
                       .parameter = {},
                       .is_learned = logits.gradient.exists()});
}

}  // namespace segue

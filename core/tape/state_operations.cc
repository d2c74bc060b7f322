// The arguments of the kernels of states, made from values of the tape.
#include "core/tape/state_operations.h"

#include "core/tape/rows.h"
#include "kernels/blend.h"
#include "kernels/short_convolution.h"
#include "kernels/state_read.h"
#include "kernels/state_scan.h"
#include "kernels/state_turn.h"
#include "kernels/weighted_average.h"

namespace segue {

using kernels::Queue;

namespace {

// A value of float32, whatever activations are.
Value new_floats(Tape& tape, const Shape& shape, bool is_learned) {
  return {.data = tape.new_slot(shape), .gradient = tape.training() && is_learned ? tape.new_slot(shape) : Slot{}};
}

std::vector<ConstTensorView> gradients_of(std::initializer_list<Parameter> parameters) {
  std::vector<ConstTensorView> gradients;
  for (const Parameter& parameter : parameters)
    if (!parameter.gradient.empty()) gradients.emplace_back(parameter.gradient);
  return gradients;
}

}  // namespace

Value head_norm(Tape& tape, const Value& x, const HeadNormOperation& operation) {
  const Shape shape = tape.shape(x.data);
  const Shape rows{shape.elements() / operation.width, operation.width};
  const bool is_learned = x.gradient.exists() || !operation.gain.gradient.empty() || operation.gate.gradient.exists();
  const Value y = tape.new_value(shape, is_learned);
  const Slot scale = operation.norm == kernels::HeadNorm::kNone ? Slot{} : tape.new_slot({rows[0]});
  const GradientUse dx = tape.overwrite_gradient(x);
  const GradientUse dgate = tape.overwrite_gradient(operation.gate);
  const auto in_rows = [rows](auto view) { return view.empty() ? view : view.reshaped(rows); };
  const auto inputs = [=, &tape] {
    return kernels::HeadNormInputs{.feature = operation.feature,
                                   .norm = operation.norm,
                                   .epsilon = operation.epsilon,
                                   .x = in_rows(tape.read(x.data)),
                                   .gain = operation.gain.value,
                                   .gate = in_rows(tape.read(operation.gate.data))};
  };
  tape.record({
      .name = "head_norm",
      .forward_slots = {x.data, operation.gate.data, y.data, scale},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::head_norm_forward(
                queue, {.inputs = inputs(), .y = in_rows(tape.write(y.data)), .scale = tape.write(scale)});
          },
      .backward_slots = {x.data, operation.gate.data, scale, y.gradient, dx.slot, dgate.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::head_norm_backward(queue, {.inputs = inputs(),
                                                .scale = tape.read(scale),
                                                .dy = in_rows(tape.read(y.gradient)),
                                                .dx = in_rows(tape.write(dx)),
                                                .dgain = operation.gain.gradient,
                                                .dgate = in_rows(tape.write(dgate))});
          },
      .parameter_gradients = gradients_of({operation.gain}),
      .is_learned = is_learned,
  });
  return y;
}

Value gate(Tape& tape, const Value& x, const GateOperation& operation) {
  const Shape shape = tape.shape(x.data);
  const bool is_learned = x.gradient.exists() || !operation.bias.gradient.empty();
  const Value gates = new_floats(tape, shape, is_learned);
  const GradientUse dx = tape.overwrite_gradient(x);
  tape.record({
      .name = "gate",
      .forward_slots = {x.data, gates.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::gate_forward(queue, {.formula = operation.formula,
                                          .x = rows_of(tape.read(x.data)),
                                          .bias = operation.bias.value,
                                          .rate = operation.rate.value,
                                          .gates = rows_of(tape.write(gates.data))});
          },
      .backward_slots = {x.data, gates.gradient, dx.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::gate_backward(queue, {.formula = operation.formula,
                                           .x = rows_of(tape.read(x.data)),
                                           .bias = operation.bias.value,
                                           .rate = operation.rate.value,
                                           .dgates = rows_of(tape.read(gates.gradient)),
                                           .dx = rows_of(tape.write(dx)),
                                           .dbias = operation.bias.gradient,
                                           .drate = operation.rate.gradient});
          },
      .parameter_gradients = gradients_of({operation.bias, operation.rate}),
      .is_learned = is_learned,
  });
  return gates;
}

ScannedState state_scan(Tape& tape, const StateScanOperation& in) {
  const Shape segment = tape.shape(in.v.data);
  const int64_t streams = segment[0], tgt_len = segment[1];
  const int64_t heads = in.state[0], keys = in.state[1], values = in.state[2];
  const Shape of_keys{streams, tgt_len, heads, keys};
  const Shape of_values{streams, tgt_len, heads, values};
  const Shape states{streams, heads, keys, values};
  const Shape kept_shape{streams, heads, kernels::kept_states(tgt_len, tape.device().kind), keys, values};
  const bool is_learned = in.is_read || in.is_read_on;
  const Value output = tape.new_value(segment, in.is_read);
  const Value state = new_floats(tape, states, in.is_read_on);
  const bool goes_back = tape.training() && is_learned;
  const Slot kept = goes_back ? tape.new_slot(kept_shape) : Slot{};
  const Slot doutput = goes_back && !in.is_read
                           ? tape.constant(OwnedTensor(DType::kFloat32, segment), tape.activations())
                           : output.gradient;
  const GradientUse dq = tape.overwrite_gradient(in.q);
  const GradientUse dk = tape.overwrite_gradient(in.k);
  const GradientUse dv = tape.overwrite_gradient(in.v);
  const GradientUse dlog_decay = tape.overwrite_gradient(in.log_decay);
  const GradientUse dstrength = tape.overwrite_gradient(in.strength);
  const GradientUse dinitial = tape.overwrite_gradient(in.initial);
  // The kernel has those of all that it reads; nobody reads those of what is given.
  const auto unread_of = [&](const GradientUse& use, Slot data, DType dtype) {
    return goes_back && !use.exists() && data.exists() ? tape.new_slot(tape.shape(data), dtype) : Slot{};
  };
  const Slot unread_dq = unread_of(dq, in.q.data, tape.activations());
  const Slot unread_dk = unread_of(dk, in.k.data, tape.activations());
  const Slot unread_dv = unread_of(dv, in.v.data, tape.activations());
  const Slot unread_dstrength = unread_of(dstrength, in.strength.data, DType::kFloat32);
  const Slot unread_dinitial = goes_back && !dinitial.exists() ? tape.new_slot(states) : Slot{};
  const Shape decays = in.log_decay.data.exists() ? tape.shape(in.log_decay.data) : Shape{0};
  const bool is_by_channel = decays.rank() == 3 && decays[2] == heads * keys;
  const auto as_decays = [=](auto view) { return is_by_channel && !view.empty() ? view.reshaped(of_keys) : view; };
  const auto inputs = [=, &tape] {
    return kernels::StateScanInputs{.q = tape.read(in.q.data).reshaped(of_keys),
                                    .k = tape.read(in.k.data).reshaped(of_keys),
                                    .v = tape.read(in.v.data).reshaped(of_values),
                                    .log_decay = as_decays(tape.read(in.log_decay.data)),
                                    .beta = tape.read(in.strength.data),
                                    .initial = tape.read(in.initial.data),
                                    .scale = in.scale,
                                    .erases = in.erases};
  };
  // A token decays, writes and reads each element, and where it erases looks for it first.
  const double elements = static_cast<double>(segment.elements()) * static_cast<double>(keys);
  const double once = elements * ((in.log_decay.data.exists() ? 1.0 : 0.0) + 4.0 + (in.erases ? 2.0 : 0.0));
  tape.record({
      .name = "state_scan",
      .forward_slots = {in.q.data, in.k.data, in.v.data, in.log_decay.data, in.strength.data, in.initial.data,
                        output.data, state.data, kept},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::state_scan_forward(queue, {.inputs = inputs(),
                                                .output = tape.write(output.data).reshaped(of_values),
                                                .final = tape.write(state.data),
                                                .kept = tape.write(kept)});
          },
      .backward_slots = {in.q.data,       in.k.data, in.v.data,       in.log_decay.data, in.strength.data,
                         in.initial.data, kept,      doutput,         state.gradient,    dq.slot,
                         dk.slot,         dv.slot,   dlog_decay.slot, dstrength.slot,    dinitial.slot,
                         unread_dq,       unread_dk, unread_dv,       unread_dstrength,  unread_dinitial},
      .backward =
          [=, &tape](Queue& queue) {
            const auto write = [&tape](const GradientUse& use, Slot unread) {
              return use.exists() ? tape.write(use) : tape.write(unread);
            };
            kernels::state_scan_backward(queue, {.inputs = inputs(),
                                                 .kept = tape.read(kept),
                                                 .doutput = tape.read(doutput).reshaped(of_values),
                                                 .dfinal = tape.read(state.gradient),
                                                 .dq = write(dq, unread_dq).reshaped(of_keys),
                                                 .dk = write(dk, unread_dk).reshaped(of_keys),
                                                 .dv = write(dv, unread_dv).reshaped(of_values),
                                                 .dlog_decay = as_decays(tape.write(dlog_decay)),
                                                 .dbeta = write(dstrength, unread_dstrength),
                                                 .dinitial = write(dinitial, unread_dinitial)});
          },
      .flops = {.forward = once, .backward = 2.5 * once},
      .is_learned = is_learned,
  });
  return {.output = output, .state = state};
}

Value state_read(Tape& tape, const Value& queries, const Value& state) {
  const Shape segment = tape.shape(queries.data), extents = tape.shape(state.data);
  const int64_t heads = extents[1], keys = extents[2], values = extents[3];
  const Shape of_keys{segment[0], segment[1], heads, keys};
  const Shape of_values{segment[0], segment[1], heads, values};
  const bool is_learned = queries.gradient.exists() || state.gradient.exists();
  const Value output = tape.new_value({segment[0], segment[1], heads * values}, is_learned);
  const GradientUse dq = tape.overwrite_gradient(queries);
  const GradientUse dstate = tape.use_gradient(state);
  // The kernel has that of queries; nobody reads it of those that are given.
  const Slot unread_dq =
      tape.training() && is_learned && !dq.exists() ? tape.new_slot(segment, tape.activations()) : Slot{};
  const double once = 2.0 * static_cast<double>(of_keys.elements() * values);
  tape.record({
      .name = "state_read",
      .forward_slots = {queries.data, state.data, output.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::state_read_forward(queue, {.q = tape.read(queries.data).reshaped(of_keys),
                                                .state = tape.read(state.data),
                                                .output = tape.write(output.data).reshaped(of_values)});
          },
      .backward_slots = {queries.data, state.data, output.gradient, dq.slot, unread_dq, dstate.slot},
      .backward =
          [=, &tape](Queue& queue) {
            const TensorView to = dq.exists() ? tape.write(dq) : tape.write(unread_dq);
            kernels::state_read_backward(queue, {.q = tape.read(queries.data).reshaped(of_keys),
                                                 .state = tape.read(state.data),
                                                 .doutput = tape.read(output.gradient).reshaped(of_values),
                                                 .dq = to.reshaped(of_keys),
                                                 .dstate = tape.write(dstate),
                                                 .accumulate = tape.accumulates(dstate)});
          },
      .flops = {.forward = once, .backward = dstate.exists() ? 2.0 * once : once},
      .is_learned = is_learned,
  });
  return output;
}

// Written is what reading's gradient is: with a state in the place of its gradient, values in that of what outputs
// receive. And its own gradients are what is read.
Value state_write(Tape& tape, const Value& keys, const Value& values, const Value& state) {
  const Shape segment = tape.shape(keys.data), extents = tape.shape(state.data);
  const Shape of_keys{segment[0], segment[1], extents[1], extents[2]};
  const Shape of_values{segment[0], segment[1], extents[1], extents[3]};
  const bool is_learned = keys.gradient.exists();
  const Value after = new_floats(tape, extents, is_learned);
  const GradientUse dkeys = tape.overwrite_gradient(keys);
  const GradientUse dvalues = tape.overwrite_gradient(values);
  const GradientUse dstate = is_learned ? tape.overwrite_gradient(state) : GradientUse{};
  const double once = 2.0 * static_cast<double>(of_keys.elements() * extents[3]);
  tape.record({
      .name = "state_write",
      .forward_slots = {keys.data, values.data, state.data, after.data},
      .forward =
          [=, &tape](Queue& queue) {
            queue.copy(tape.write(after.data), tape.read(state.data));
            kernels::state_read_backward(queue, {.q = tape.read(keys.data).reshaped(of_keys),
                                                 .state = tape.read(state.data),
                                                 .doutput = tape.read(values.data).reshaped(of_values),
                                                 .dq = {},
                                                 .dstate = tape.write(after.data),
                                                 .accumulate = true});
          },
      .backward_slots = {keys.data, values.data, after.gradient, dkeys.slot, dvalues.slot, dstate.slot},
      .backward =
          [=, &tape](Queue& queue) {
            const ConstTensorView arrived = tape.read(after.gradient);
            kernels::state_read_backward(queue, {.q = tape.read(keys.data).reshaped(of_keys),
                                                 .state = arrived,
                                                 .doutput = tape.read(values.data).reshaped(of_values),
                                                 .dq = tape.write(dkeys).reshaped(of_keys),
                                                 .dstate = {}});
            kernels::state_read_forward(queue, {.q = tape.read(keys.data).reshaped(of_keys),
                                                .state = arrived,
                                                .output = tape.write(dvalues).reshaped(of_values)});
            if (dstate.exists()) queue.copy(tape.write(dstate), arrived);
          },
      .flops = {.forward = once, .backward = 2.0 * once},
      .is_learned = is_learned,
  });
  return after;
}

Value state_turn(Tape& tape, const Value& state, const kernels::RotaryTurn& turn) {
  const bool is_learned = state.gradient.exists();
  const Value turned = new_floats(tape, tape.shape(state.data), is_learned);
  const GradientUse dstate = tape.overwrite_gradient(state);
  const auto by = [=](ConstTensorView from, TensorView to, int64_t position) {
    return kernels::StateTurn{
        .from = from, .position = position, .width = turn.width, .base = turn.base, .scaling = turn.scaling, .to = to};
  };
  tape.record({
      .name = "state_turn",
      .forward_slots = {state.data, turned.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::state_turn(queue, by(tape.read(state.data), tape.write(turned.data), turn.first_position));
          },
      .backward_slots = {turned.gradient, dstate.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::state_turn(queue, by(tape.read(turned.gradient), tape.write(dstate), -turn.first_position));
          },
      .is_learned = is_learned,
  });
  return turned;
}

Value blend(Tape& tape, const Value& a, const Value& b, const Parameter& logits) {
  const Shape shape = tape.shape(a.data);
  const int64_t heads = logits.value.shape[0];
  const Shape rows{shape[0] * shape[1], heads, shape[2] / heads};
  const Value y = tape.new_value(shape);
  const GradientUse da = tape.overwrite_gradient(a);
  const GradientUse db = tape.overwrite_gradient(b);
  tape.record({
      .name = "blend",
      .forward_slots = {a.data, b.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::blend_forward(queue, {.a = tape.read(a.data).reshaped(rows),
                                           .b = tape.read(b.data).reshaped(rows),
                                           .logits = logits.value,
                                           .y = tape.write(y.data).reshaped(rows)});
          },
      .backward_slots = {a.data, b.data, y.gradient, da.slot, db.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::blend_backward(queue, {.a = tape.read(a.data).reshaped(rows),
                                            .b = tape.read(b.data).reshaped(rows),
                                            .logits = logits.value,
                                            .dy = tape.read(y.gradient).reshaped(rows),
                                            .da = tape.write(da).reshaped(rows),
                                            .db = tape.write(db).reshaped(rows),
                                            .dlogits = logits.gradient});
          },
      .parameter_gradients = gradients_of({logits}),
  });
  return y;
}

Value feature_map(Tape& tape, const Value& x, const FeatureOperation& in) {
  const Shape shape = tape.shape(x.data);
  const int64_t projections = in.projections.data.exists() ? last_extent(tape.shape(in.projections.data)) : 0;
  const int64_t features = kernels::features_of(in.formula, last_extent(shape), projections, in.shifts);
  const bool reads_x = in.formula != kernels::FeatureFormula::kWave;
  const Slot from = reads_x ? x.data : Slot{};
  const bool is_learned = x.gradient.exists() || in.projections.gradient.exists();
  const Value y = tape.new_value(with_last_extent(shape, features), is_learned);
  const GradientUse dx = reads_x ? tape.overwrite_gradient(x) : GradientUse{};
  const GradientUse dprojections = tape.overwrite_gradient(in.projections);
  const auto inputs = [=, &tape] {
    return kernels::FeatureMapInputs{.formula = in.formula,
                                     .shifts = in.shifts,
                                     .scale = in.scale,
                                     .x = rows_of(tape.read(from)),
                                     .projections = rows_of(tape.read(in.projections.data))};
  };
  tape.record({
      .name = "feature_map",
      .forward_slots = {from, in.projections.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::feature_map_forward(queue, {.inputs = inputs(), .y = rows_of(tape.write(y.data))});
          },
      .backward_slots = {from, in.projections.data, y.data, y.gradient, dx.slot, dprojections.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::feature_map_backward(queue, {.inputs = inputs(),
                                                  .y = rows_of(tape.read(y.data)),
                                                  .dy = rows_of(tape.read(y.gradient)),
                                                  .dx = rows_of(tape.write(dx)),
                                                  .dprojections = rows_of(tape.write(dprojections))});
          },
      .is_learned = is_learned,
  });
  return y;
}

Value weighted_average(Tape& tape, const Value& sums, float floor) {
  const Shape shape = tape.shape(sums.data);
  const Value y = tape.new_value(with_last_extent(shape, last_extent(shape) - 1));
  const GradientUse dsums = tape.overwrite_gradient(sums);
  tape.record({
      .name = "weighted_average",
      .forward_slots = {sums.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::weighted_average_forward(
                queue, {.sums = rows_of(tape.read(sums.data)), .floor = floor, .y = rows_of(tape.write(y.data))});
          },
      .backward_slots = {sums.data, y.gradient, dsums.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::weighted_average_backward(queue, {.sums = rows_of(tape.read(sums.data)),
                                                       .floor = floor,
                                                       .dy = rows_of(tape.read(y.gradient)),
                                                       .dsums = rows_of(tape.write(dsums))});
          },
  });
  return y;
}

Convolved short_convolution(Tape& tape, const Value& x, const ConvolutionOperation& in) {
  const Shape shape = tape.shape(x.data);
  const Shape tail = tape.shape(in.before.data);
  const Value y = tape.new_value(shape);
  const Value after = new_floats(tape, tail, in.is_read_on);
  const GradientUse dx = tape.overwrite_gradient(x);
  const GradientUse dbefore = tape.overwrite_gradient(in.before);
  const auto inputs = [=, &tape] {
    return kernels::ShortConvolutionInputs{
        .x = tape.read(x.data), .taps = in.taps.value, .before = tape.read(in.before.data)};
  };
  tape.record({
      .name = "short_convolution",
      .forward_slots = {x.data, in.before.data, y.data, after.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::short_convolution_forward(
                queue, {.inputs = inputs(), .y = tape.write(y.data), .after = tape.write(after.data)});
          },
      .backward_slots = {x.data, in.before.data, y.gradient, after.gradient, dx.slot, dbefore.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::short_convolution_backward(queue, {.inputs = inputs(),
                                                        .dy = tape.read(y.gradient),
                                                        .dafter = tape.read(after.gradient),
                                                        .dx = tape.write(dx),
                                                        .dtaps = in.taps.gradient,
                                                        .dbefore = tape.write(dbefore)});
          },
      .parameter_gradients = gradients_of({in.taps}),
      .flops = {.forward = 2.0 * static_cast<double>(shape.elements() * (tail[1] + 1)),
                .backward = 6.0 * static_cast<double>(shape.elements() * (tail[1] + 1))},
  });
  return {.output = y, .after = after};
}

}  // namespace segue

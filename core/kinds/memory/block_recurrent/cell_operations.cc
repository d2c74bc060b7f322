// Kernels of attention, states and shares, put to another use: a state of one key is a row of float32, and a share of
// every head is one of every column where heads are one column wide.
#include "core/kinds/memory/block_recurrent/cell_operations.h"

#include <algorithm>
#include <utility>

#include "core/attention/relative_attention.h"
#include "core/tape/operations.h"
#include "kernels/blend.h"
#include "kernels/state_read.h"
#include "kernels/state_scan.h"

namespace segue {

using kernels::Queue;

Value beside(Tape& tape, const std::vector<Value>& parts) {
  const Shape shape = tape.shape(parts.front().data);
  const int64_t rows = shape[0] * shape[1], columns = shape[2], count = std::ssize(parts);
  std::vector<StreamRows> joined;
  for (const Value& part : parts) joined.push_back({reshaped(tape, part, {rows, 1, columns}), 0, 1});
  return reshaped(tape, join_rows(tape, std::move(joined)), {shape[0], shape[1], count * columns});
}

// The kernel takes queries beside keys and values of their own, which nobody sees here.
Value attend_to_all(Tape& tape, const Shape& heads, const std::shared_ptr<Schedules>& schedules, const Value& queries,
                    const Value& kv) {
  const int64_t rows = tape.shape(queries.data)[1], keys = tape.shape(kv.data)[1];
  const Value unseen = without_gradient(queries);
  const ScheduledLayer seen{.memory_alone = true, .heads = heads[0], .tgt_len = rows, .device = tape.device()};
  return relative_attention(tape, {.heads = heads,
                                   .qkv = beside(tape, {queries, unseen, unseen}),
                                   .memory_kv = kv,
                                   .r = {},
                                   .u = {},
                                   .w = {},
                                   .tiles = std::make_shared<LayerTiles>(schedules, seen, 0),
                                   .reach = {},
                                   .ahead = {},
                                   .pairs = static_cast<double>(rows * keys),
                                   .dropatt = {}});
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
  const Slot others = b.data.exists() ? b.data : tape.constant(OwnedTensor(DType::kFloat32, shape), tape.activations());
  const Value y = tape.new_value(shape, is_learned);
  const GradientUse da = tape.overwrite_gradient(a), db = tape.overwrite_gradient(b);
  // The kernel has those of both; nobody reads those of what is given.
  const auto unread_of = [&](const GradientUse& use) {
    return tape.training() && is_learned && !use.exists() ? tape.new_slot(shape, tape.activations()) : Slot{};
  };
  const Slot unread_da = unread_of(da), unread_db = unread_of(db);
  const Shape flat{logits.rows[1]};
  const auto values = [=, &tape] {
    return logits.data.exists() ? tape.read(logits.data).reshaped(flat) : ConstTensorView(logits.parameter.value);
  };
  std::vector<ConstTensorView> gradients;
  if (!logits.data.exists() && logits.is_learned) gradients.emplace_back(logits.parameter.gradient);
  tape.record({
      .name = "blend",
      .forward_slots = {a.data, others, logits.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::blend_forward(queue, {.a = tape.read(a.data).reshaped(logits.rows),
                                           .b = tape.read(others).reshaped(logits.rows),
                                           .logits = values(),
                                           .y = tape.write(y.data).reshaped(logits.rows)});
          },
      .backward_slots = {a.data, others, logits.data, y.gradient, da.slot, unread_da, db.slot, unread_db,
                         logits.use.slot},
      .backward =
          [=, &tape](Queue& queue) {
            const auto write = [&](const GradientUse& use, Slot unread) {
              return (use.exists() ? tape.write(use) : tape.write(unread)).reshaped(logits.rows);
            };
            TensorView dlogits = logits.parameter.gradient;
            if (logits.data.exists()) {
              dlogits = tape.write(logits.use).reshaped(flat);
              queue.fill_zero(dlogits);
            }
            kernels::blend_backward(queue, {.a = tape.read(a.data).reshaped(logits.rows),
                                            .b = tape.read(others).reshaped(logits.rows),
                                            .logits = values(),
                                            .dy = tape.read(y.gradient).reshaped(logits.rows),
                                            .da = write(da, unread_da),
                                            .db = write(db, unread_db),
                                            .dlogits = dlogits});
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

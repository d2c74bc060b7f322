// Reshapes, and what a memory compresses with: pooling, a choice of rows, the rectifier, and squared differences.
#include <utility>

#include "core/tape/operations.h"
#include "core/tape/rows.h"
#include "kernels/most_used_rows.h"
#include "kernels/rectifier.h"
#include "kernels/squared_difference.h"

namespace segue {

using kernels::Queue;

Value reshaped(Tape& tape, const Value& x, const Shape& shape) {
  const Value y{.data = tape.new_slot(shape, tape.activations()),
                .gradient = x.gradient.exists() ? tape.new_slot(shape, tape.activations()) : Slot{}};
  tape.share(y.data, x.data);
  const GradientUse dx = tape.overwrite_gradient(x);
  if (dx.exists()) tape.share(y.gradient, dx.slot);
  return y;
}

Value pool_rows(Tape& tape, const Value& x, int64_t size, kernels::Pooling pooling) {
  const Shape from = tape.shape(x.data);
  const Shape to{from[0], from[1] / size, from[2]};
  const Value y = tape.new_value(to, false);
  tape.record({.name = "pool_rows",
               .forward_slots = {x.data, y.data},
               .forward =
                   [=, &tape](Queue& queue) {
                     kernels::pool_rows(queue, {.pooling = pooling,
                                                .x = tape.read(x.data).reshaped({to[0] * to[1], size, to[2]}),
                                                .y = rows_of(tape.write(y.data))});
                   },
               .backward_slots = {},
               .backward = nullptr,
               .is_learned = false});
  return y;
}

Value most_used_rows(Tape& tape, const Value& x, Slot received, int64_t kept) {
  const Shape from = tape.shape(x.data);
  const Value y = tape.new_value({from[0], kept, from[2]}, false);
  const Slot usage = tape.new_slot({from[0], from[1]});
  const Slot ranked = tape.new_slot({from[0], kept}, DType::kInt32);
  tape.record({.name = "most_used_rows",
               .forward_slots = {x.data, received, usage, ranked, y.data},
               .forward =
                   [=, &tape](Queue& queue) {
                     kernels::most_used_rows(queue, {.received = tape.read(received),
                                                     .x = tape.read(x.data),
                                                     .usage = tape.write(usage),
                                                     .ranked = tape.write(ranked),
                                                     .y = tape.write(y.data)});
                   },
               .backward_slots = {},
               .backward = nullptr,
               .is_learned = false});
  return y;
}

Value rectify(Tape& tape, const Value& x) {
  const Value y = tape.new_value(tape.shape(x.data), x.gradient.exists());
  const GradientUse dx = tape.use_gradient(x);
  tape.record({.name = "rectify",
               .forward_slots = {x.data, y.data},
               .forward =
                   [=, &tape](Queue& queue) {
                     kernels::rectifier_forward(queue, {.x = tape.read(x.data), .y = tape.write(y.data)});
                   },
               .backward_slots = {y.gradient, y.data, dx.slot},
               .backward =
                   [=, &tape](Queue& queue) {
                     kernels::rectifier_backward(queue, {.dy = tape.read(y.gradient),
                                                         .y = tape.read(y.data),
                                                         .dx = tape.write(dx),
                                                         .accumulate = tape.accumulates(dx)});
                   },
               .is_learned = x.gradient.exists()});
  return y;
}

void add_distance(Tape& tape, const Distance& distance, Slot sums, bool is_first) {
  const auto [constant, x, weight] = distance;
  const Shape shape = tape.shape(x.data);
  const Shape streams{shape[0], shape.elements() / shape[0]};
  const double mean = 1.0 / static_cast<double>(streams[1]);
  const GradientUse dx = tape.use_gradient(x);
  tape.record({.name = "distance",
               .forward_slots = {constant.data, x.data, sums},
               .forward =
                   [=, &tape, constant = constant.data, x = x.data](Queue& queue) {
                     kernels::squared_difference_forward(queue, {.a = tape.read(constant).reshaped(streams),
                                                                 .b = tape.read(x).reshaped(streams),
                                                                 .scale = static_cast<float>(mean),
                                                                 .sums = tape.write(sums),
                                                                 .accumulate = !is_first});
                   },
               .backward_slots = {constant.data, x.data, dx.slot},
               .backward =
                   [=, &tape, constant = constant.data, x = x.data, weight = weight](Queue& queue) {
                     const double scale = weight * mean * static_cast<double>(tape.info().stream_share);
                     kernels::squared_difference_backward(queue, {.a = tape.read(constant).reshaped(streams),
                                                                  .b = tape.read(x).reshaped(streams),
                                                                  .scale = static_cast<float>(scale),
                                                                  .db = tape.write(dx).reshaped(streams),
                                                                  .accumulate = tape.accumulates(dx)});
                   },
               .is_learned = dx.exists()});
}

}  // namespace segue

#include "core/tape/reversible.h"

#include "kernels/convert.h"

namespace segue {

using kernels::Queue;

namespace {

// The same numbers in a value of its own.
Value copy_in(Tape& tape, DType dtype, const Value& x) {
  const Shape shape = tape.shape(x.data);
  const Value y{.data = tape.new_slot(shape, dtype),
                .gradient = x.gradient.exists() ? tape.new_slot(shape, dtype) : Slot{}};
  const GradientUse dx = tape.use_gradient(x);
  tape.record({
      .name = "copy_stream",
      .forward_slots = {x.data, y.data},
      .forward = [=,
                  &tape](Queue& queue) { kernels::convert(queue, {.x = tape.read(x.data), .y = tape.write(y.data)}); },
      .backward_slots = {y.gradient, dx.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::convert(queue,
                             {.x = tape.read(y.gradient), .y = tape.write(dx), .accumulate = tape.accumulates(dx)});
          },
      .is_learned = x.gradient.exists(),
  });
  return y;
}

}  // namespace

Value reversible_stream(Tape& tape, const Value& x) { return copy_in(tape, DType::kFloat32, x); }

Value copy_of_stream(Tape& tape, const Value& stream) {
  return copy_in(tape, tape.activations(), without_gradient(stream));
}

Value add_reversibly(Tape& tape, const Value& stream, const Value& branch) {
  const Value y{.data = tape.new_slot(tape.shape(stream.data)), .gradient = stream.gradient};
  tape.overwrite(y.data, stream.data);
  const GradientUse dbranch = tape.use_gradient(branch);
  const auto add = [=, &tape](Queue& queue, float factor) {
    kernels::convert(queue,
                     {.x = tape.read(branch.data), .y = tape.write(y.data), .accumulate = true, .factor = factor});
  };
  tape.record({
      .name = "add_reversibly",
      .forward_slots = {y.data, branch.data},
      .forward = [=](Queue& queue) { add(queue, 1.0F); },
      .backward_slots = {y.data, y.gradient, branch.data, dbranch.slot},
      .backward =
          [=, &tape](Queue& queue) {
            add(queue, -1.0F);
            kernels::convert(
                queue, {.x = tape.read(y.gradient), .y = tape.write(dbranch), .accumulate = tape.accumulates(dbranch)});
          },
      .is_undone = true,
  });
  return y;
}

}  // namespace segue

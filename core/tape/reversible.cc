#include "core/tape/reversible.h"

#include "core/tape/element_gates.h"
#include "kernels/convert.h"

namespace segue {

using kernels::Queue;

Value reversible_stream(Tape& tape, const Value& x) { return copied_as(tape, x, DType::kFloat32); }

Value copy_of_stream(Tape& tape, const Value& stream) {
  return copied_as(tape, without_gradient(stream), tape.activations());
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

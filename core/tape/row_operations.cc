// Operations on rows as they are: some of them, joined, some of their columns, or all turned by their positions.
#include <utility>
#include <vector>

#include "core/tape/operations.h"
#include "kernels/copy_block.h"

namespace segue {

using kernels::Queue;

namespace {

Value record_join(Tape& tape, const std::vector<StreamRows>& parts) {
  const Shape first = tape.shape(parts.front().from.data);
  const int64_t columns = first[2];
  int64_t rows = 0;
  bool is_learned = false;
  for (const StreamRows& part : parts) {
    rows += part.count;
    is_learned = is_learned || part.from.gradient.exists();
  }
  const Value y = tape.new_value({first[0], rows, columns}, is_learned);
  std::vector<GradientUse> uses;
  std::vector<Slot> forward_slots{y.data};
  std::vector<Slot> backward_slots{y.gradient};
  for (const StreamRows& part : parts) {
    uses.push_back(tape.use_gradient(part.from));
    forward_slots.push_back(part.from.data);
    backward_slots.push_back(uses.back().slot);
  }
  tape.record({
      .name = "join_rows",
      .forward_slots = std::move(forward_slots),
      .forward =
          [=, &tape](Queue& queue) {
            int64_t row = 0;
            for (const StreamRows& part : parts) {
              kernels::copy_block(queue, {.from = tape.read(part.from.data),
                                          .from_row = part.first,
                                          .to = tape.write(y.data),
                                          .to_row = row,
                                          .rows = part.count,
                                          .columns = columns});
              row += part.count;
            }
          },
      .backward_slots = std::move(backward_slots),
      // In reverse, as the last use of a gradient is the one that overwrites it.
      .backward =
          [=, &tape](Queue& queue) {
            int64_t row = rows;
            for (size_t i = parts.size(); i-- > 0;) {
              row -= parts[i].count;
              if (!uses[i].exists()) continue;
              const bool accumulate = tape.accumulates(uses[i]);
              if (!accumulate) queue.fill_zero(tape.write(uses[i]));
              kernels::copy_block(queue, {.from = tape.read(y.gradient),
                                          .from_row = row,
                                          .to = tape.write(uses[i]),
                                          .to_row = parts[i].first,
                                          .rows = parts[i].count,
                                          .columns = columns,
                                          .accumulate = accumulate});
            }
          },
      .is_learned = is_learned,
  });
  return y;
}

}  // namespace

Value newest_rows(Tape& tape, const Value& x, int64_t count) {
  return join_rows(tape, {{.from = x, .first = tape.shape(x.data)[1] - count, .count = count}});
}

Value join_rows(Tape& tape, std::vector<StreamRows> parts) {
  std::erase_if(parts, [](const StreamRows& part) { return part.count == 0; });
  if (parts.empty()) throw ContractError("join_rows: no rows");
  if (parts.size() == 1 && parts.front().count == tape.shape(parts.front().from.data)[1]) return parts.front().from;
  return record_join(tape, parts);
}

Value copied_rows(Tape& tape, const StreamRows& rows) { return record_join(tape, {rows}); }

Value columns_of(Tape& tape, const Value& x, int64_t first, int64_t count) {
  const Shape shape = tape.shape(x.data);
  const Value y = tape.new_value({shape[0], shape[1], count}, x.gradient.exists());
  const GradientUse dx = tape.use_gradient(x);
  tape.record({
      .name = "columns_of",
      .forward_slots = {x.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::copy_block(queue, {.from = tape.read(x.data),
                                        .from_column = first,
                                        .to = tape.write(y.data),
                                        .rows = shape[1],
                                        .columns = count});
          },
      .backward_slots = {y.gradient, dx.slot},
      .backward =
          [=, &tape](Queue& queue) {
            if (!tape.accumulates(dx)) throw ContractError("columns_of: nothing else has a gradient of what it copies");
            kernels::copy_block(queue, {.from = tape.read(y.gradient),
                                        .to = tape.write(dx),
                                        .to_column = first,
                                        .rows = shape[1],
                                        .columns = count,
                                        .accumulate = true});
          },
      .is_learned = x.gradient.exists(),
  });
  return y;
}

Value rotary(Tape& tape, const Value& x, int64_t head, const kernels::RotaryTurn& turn) {
  const Shape shape = tape.shape(x.data);
  if (shape.elements() == 0) return x;  // an empty memory
  const Shape vectors{shape[0], shape[1], shape[2] / head, head};
  const GradientUse dx = tape.overwrite_gradient(x);
  const Value y = dx.exists() ? tape.new_value(shape) : Value{tape.new_slot(shape, tape.activations()), {}};
  if (!tape.is_bound(x.data)) tape.overwrite(y.data, x.data);
  if (dx.exists()) tape.overwrite(y.gradient, dx.slot);
  const auto turn_here = [=, &tape] {
    kernels::RotaryTurn here = turn;
    here.first_position += tape.info().first_position;
    return here;
  };
  tape.record({
      .name = "rotary",
      .forward_slots = {x.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::rotary_forward(queue, {.x = tape.read(x.data).reshaped(vectors),
                                            .turn = turn_here(),
                                            .y = tape.write(y.data).reshaped(vectors)});
          },
      .backward_slots = {y.gradient, dx.slot},
      .backward =
          [=, &tape](Queue& queue) {
            if (!dx.exists()) return;
            kernels::rotary_backward(queue, {.dy = tape.read(y.gradient).reshaped(vectors),
                                             .turn = turn_here(),
                                             .dx = tape.write(dx).reshaped(vectors)});
          },
  });
  return y;
}

}  // namespace segue

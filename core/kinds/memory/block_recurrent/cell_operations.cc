// A kernel of attention put to another use.
#include "core/kinds/memory/block_recurrent/cell_operations.h"

#include <utility>

#include "core/attention/relative_attention.h"
#include "core/tape/operations.h"

namespace segue {

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

}  // namespace segue

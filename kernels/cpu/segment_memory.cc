// Moves of whole rows, in an order that is right when the new memory lies over the old one.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

void move(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0) std::memmove(to, from, static_cast<size_t>(bytes));
}

// One stream: the kept tail of the memory first, because the hidden states may land on its old place.
void update_stream(const SegmentMemoryUpdate& args, int64_t b) {
  const int64_t row_bytes = args.hidden.shape[2] * bytes_of(args.hidden.dtype);
  const int64_t old_rows = args.memory.shape[1];
  const int64_t fresh_rows = args.hidden.shape[1];
  const int64_t rows = args.updated.shape[1];
  const int64_t from_hidden = std::min(rows, fresh_rows);
  const int64_t from_memory = rows - from_hidden;
  std::byte* updated = args.updated.data + b * rows * row_bytes;
  move(updated, args.memory.data + ((b + 1) * old_rows - from_memory) * row_bytes, from_memory * row_bytes);
  move(updated + from_memory * row_bytes, args.hidden.data + ((b + 1) * fresh_rows - from_hidden) * row_bytes,
       from_hidden * row_bytes);
}

}  // namespace

void segment_memory_update(Queue& queue, const SegmentMemoryUpdate& args) {
  const int64_t streams = args.hidden.shape[0];
  const int64_t old_rows = args.memory.shape[1];
  const int64_t rows = args.updated.shape[1];
  if (args.updated.data != args.memory.data || rows == old_rows) {
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.updated.elements()))
    for (int64_t b = 0; b < streams; ++b) update_stream(args, b);
  } else if (rows < old_rows) {  // in place, every stream moves to lower addresses
    for (int64_t b = 0; b < streams; ++b) update_stream(args, b);
  } else {  // in place, to higher addresses
    for (int64_t b = streams - 1; b >= 0; --b) update_stream(args, b);
  }
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

// Moves of whole rows that are right when the new memory lies over the old one: a thread moves a chain of elements,
// each to the address that it has just read from or that no thread reads.
#include <algorithm>
#include <cstdlib>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// to[i] = from[i] for i < count, in every stream. Element i + step of `to` is element i of `from` where they overlap,
// or i - step of it when ascending; without an overlap `step` is count.
template <typename Element>
struct Move {
  const Element* from;
  Element* to;
  int64_t from_stride;  // from stream to stream
  int64_t to_stride;
  int64_t count;
  int64_t step;
  bool ascending;  // the order in which a chain is walked
};

template <typename Element, int kWidth>
__global__ void move_kernel(Move<Element> args) {
  using Piece = simt::Packed<Element, kWidth>;
  const int64_t first = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (first >= args.step) return;
  const Element* from = args.from + simt::block_y() * args.from_stride;
  Element* to = args.to + simt::block_y() * args.to_stride;
  const int64_t length = first < args.count ? (args.count - first - 1) / args.step + 1 : 0;
  for (int64_t link = 0; link < length; ++link) {
    const int64_t at = first + (args.ascending ? link : length - 1 - link) * args.step;
    *reinterpret_cast<Piece*>(to + at) = *reinterpret_cast<const Piece*>(from + at);
  }
}

// The row counts of each stream.
struct Rows {
  int64_t streams, old_rows, fresh_rows, rows, features;
  int64_t from_hidden() const { return std::min(rows, fresh_rows); }
  int64_t from_memory() const { return rows - from_hidden(); }
};

template <typename Element, int kWidth>
void move(Queue& queue, const Move<Element>& move, int64_t streams) {
  if (move.count == 0 || move.step == 0 || streams == 0) return;
  const int64_t blocks = simt::divide_up(std::min(move.step, move.count), kThreads * kWidth);
  simt::launch(queue.cuda(), "segment_memory_update",
               {.x = blocks, .y = static_cast<int>(streams), .threads = kThreads}, move_kernel<Element, kWidth>, move);
}

// The kept tail of the memory first, because the hidden states may land on its old place. Streams first .. first +
// streams - 1; several only when none of them moves over another.
template <typename Element, int kWidth>
void update(Queue& queue, const SegmentMemoryUpdate& args, const Rows& rows, int64_t first, int64_t streams) {
  const Element* kept = simt::data_of<Element>(args.memory);
  Element* updated = args.updated.as<Element>() + first * rows.rows * rows.features;
  const int64_t kept_count = rows.from_memory() * rows.features;
  if (kept != nullptr) kept += ((first + 1) * rows.old_rows - rows.from_memory()) * rows.features;
  const bool in_place = args.updated.data == args.memory.data;
  const int64_t shift = in_place ? kept - updated : kept_count;
  move<Element, kWidth>(queue,
                        {.from = kept,
                         .to = updated,
                         .from_stride = rows.old_rows * rows.features,
                         .to_stride = rows.rows * rows.features,
                         .count = kept_count,
                         .step = std::min(std::abs(shift), kept_count),
                         .ascending = shift > 0},
                        streams);
  const int64_t hidden_count = rows.from_hidden() * rows.features;
  const Element* hidden = simt::data_of<Element>(args.hidden);
  if (hidden != nullptr) hidden += ((first + 1) * rows.fresh_rows - rows.from_hidden()) * rows.features;
  move<Element, kWidth>(queue,
                        {.from = hidden,
                         .to = updated + kept_count,
                         .from_stride = rows.fresh_rows * rows.features,
                         .to_stride = rows.rows * rows.features,
                         .count = hidden_count,
                         .step = hidden_count,
                         .ascending = true},
                        streams);
}

}  // namespace

void segment_memory_update(Queue& queue, const SegmentMemoryUpdate& args) {
  const Rows rows{.streams = args.hidden.shape[0],
                  .old_rows = args.memory.shape[1],
                  .fresh_rows = args.hidden.shape[1],
                  .rows = args.updated.shape[1],
                  .features = args.hidden.shape[2]};
  if (args.updated.elements() == 0) return;
  simt::with_access(args.hidden.dtype, rows.features, {args.memory, args.hidden, args.updated}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    if (args.updated.data != args.memory.data || rows.rows == rows.old_rows) {
      update<Element, kWidth>(queue, args, rows, 0, rows.streams);
    } else if (rows.rows < rows.old_rows) {  // in place, every stream moves to lower addresses
      for (int64_t b = 0; b < rows.streams; ++b) update<Element, kWidth>(queue, args, rows, b, 1);
    } else {  // in place, to higher addresses
      for (int64_t b = rows.streams - 1; b >= 0; --b) update<Element, kWidth>(queue, args, rows, b, 1);
    }
  });
}

}  // namespace segue::kernels::cuda

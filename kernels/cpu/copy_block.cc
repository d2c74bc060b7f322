// Copies or adds a block row by row.
#include <cstring>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

template <typename A>
void copy_rows(const Queue& queue, const CopyBlock& args) {
  const Shape& from = args.from.shape;
  const Shape& to = args.to.shape;
  const int64_t streams = from[0];
  const int64_t columns = args.columns;
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads_for(queue, streams* args.rows* columns))
  for (int64_t b = 0; b < streams; ++b) {
    for (int64_t i = 0; i < args.rows; ++i) {
      const A* source = args.from.as<A>() + (b * from[1] + args.from_row + i) * from[2] + args.from_column;
      A* target = args.to.as<A>() + (b * to[1] + args.to_row + i) * to[2] + args.to_column;
      if (args.accumulate) {
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) store(target + c, load(target + c) + load(source + c));
      } else {
        std::memcpy(target, source, static_cast<size_t>(columns) * sizeof(A));
      }
    }
  }
}

}  // namespace

void copy_block(Queue& queue, const CopyBlock& args) {
  with_activations(args.from.dtype, [&]<typename A>() { copy_rows<A>(queue, args); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

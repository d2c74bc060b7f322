// Row by row.
#include "kernels/cpu/copy_block.h"

#include <cstring>

#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL {

void copy_block(const Stream& stream, const CopyBlock& args) {
  const Shape& from = args.from.shape;
  const Shape& to = args.to.shape;
  const int64_t streams = from[0];
  const int64_t columns = args.columns;
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads_for(stream, streams* args.rows* columns))
  for (int64_t b = 0; b < streams; ++b) {
    for (int64_t i = 0; i < args.rows; ++i) {
      const float* source = args.from.as<float>() + (b * from[1] + args.from_row + i) * from[2] + args.from_column;
      float* target = args.to.as<float>() + (b * to[1] + args.to_row + i) * to[2] + args.to_column;
      if (args.accumulate) {
        for (int64_t c = 0; c < columns; ++c) target[c] += source[c];
      } else {
        std::memcpy(target, source, static_cast<size_t>(columns) * sizeof(float));
      }
    }
  }
}

}  // namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL

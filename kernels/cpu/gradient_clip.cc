// A norm whose order of summation never changes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void gradient_norm(Queue& queue, const GradientNorm& args) {
  const int64_t count = args.gradients.elements();
  const float* g = args.gradients.as<float>();
  double* parts = args.parts.as<double>();
  const int64_t part_size = (count + kGradientNormParts - 1) / kGradientNormParts;
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, count))
  for (int64_t part = 0; part < kGradientNormParts; ++part) {
    const int64_t begin = std::min(count, part * part_size);
    parts[part] = sum_of_squares(g + begin, std::min(count, begin + part_size) - begin);
  }
}

void clip_gradients(Queue& /*queue*/, const GradientClip& args) {
  const double* parts = args.parts.as<double>();
  const double norm = std::sqrt(std::accumulate(parts, parts + kGradientNormParts, 0.0));
  args.outcome.as<double>()[0] = norm;
  args.outcome.as<double>()[1] = args.clip > 0.0 ? std::min(1.0, args.clip / (norm + 1e-6)) : 1.0;
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

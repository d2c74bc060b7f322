// Clamps in one pass, in place.
#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void clamp(Queue& queue, const Clamp& args) {
  const int64_t count = args.x.elements();
  with_activations(args.x.dtype, [&]<typename A>() {
    A* x = args.x.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, count))
    for (int64_t e = 0; e < count; ++e) {
      const float value = load(x + e);
      store(x + e, value < args.lowest ? args.lowest : (value > args.highest ? args.highest : value));
    }
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

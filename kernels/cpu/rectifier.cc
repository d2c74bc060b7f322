// Forward and backward take one pass each.
#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void rectifier_forward(Queue& queue, const RectifierForward& args) {
  const int64_t count = args.x.elements();
  with_activations(args.x.dtype, [&]<typename A>() {
    const A* x = args.x.as<A>();
    A* y = args.y.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, count))
    for (int64_t e = 0; e < count; ++e) {
      const float value = load(x + e);
      store(y + e, value <= 0.0F ? 0.0F : value);
    }
  });
}

void rectifier_backward(Queue& queue, const RectifierBackward& args) {
  const int64_t count = args.dy.elements();
  with_activations(args.dy.dtype, [&]<typename A>() {
    const A* dy = args.dy.as<A>();
    const A* y = args.y.as<A>();
    A* dx = args.dx.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, count))
    for (int64_t e = 0; e < count; ++e) {
      const float passed = load(y + e) > 0.0F ? load(dy + e) : 0.0F;
      store(dx + e, args.accumulate ? load(dx + e) + passed : passed);
    }
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

template <typename From, typename To>
void convert_elements(const Queue& queue, const Conversion& args) {
  const int64_t count = args.x.elements();
  const From* x = args.x.as<From>();
  To* y = args.y.as<To>();
  const bool accumulate = args.accumulate;
  const float factor = args.factor;
#pragma omp parallel for simd schedule(static) num_threads(threads_for(queue, count))
  for (int64_t e = 0; e < count; ++e) {
    const float converted = factor * load(x + e);
    store(y + e, accumulate ? load(y + e) + converted : converted);
  }
}

}  // namespace

void convert(Queue& queue, const Conversion& args) {
  with_activations(args.x.dtype, [&]<typename From>() {
    with_activations(args.y.dtype, [&]<typename To>() { convert_elements<From, To>(queue, args); });
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

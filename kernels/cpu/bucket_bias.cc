// Threads share the heads, so that no two add to one element of the table.
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void bucket_bias_forward(Queue& queue, const BucketBiasForward& args) {
  const int64_t heads = args.bias.shape[0];
  const int64_t distances = args.bias.shape[1];
  const int32_t* buckets = args.buckets.as<int32_t>();
  const float* table = args.table.as<float>();
  float* bias = args.bias.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.bias.elements()))
  for (int64_t n = 0; n < heads; ++n) {
    for (int64_t e = 0; e < distances; ++e) bias[n * distances + e] = table[buckets[e] * heads + n];
  }
}

void bucket_bias_backward(Queue& queue, const BucketBiasBackward& args) {
  const int64_t heads = args.dbias.shape[0];
  const int64_t distances = args.dbias.shape[1];
  const int32_t* buckets = args.buckets.as<int32_t>();
  const float* dbias = args.dbias.as<float>();
  float* dtable = args.dtable.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.dbias.elements()))
  for (int64_t n = 0; n < heads; ++n) {
    for (int64_t e = 0; e < distances; ++e) dtable[buckets[e] * heads + n] += dbias[n * distances + e];
  }
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

// A large product and a large copy.
#include "core/bench/ceilings.h"

#include "core/bench/gemm_bench.h"

namespace segue {

namespace {

CeilingSizes sizes_for(Device device, const CeilingSizes& asked) {
  const CeilingSizes usual = device.is_cuda() ? CeilingSizes{.product = 8192, .copy_bytes = int64_t{2} << 30}
                                              : CeilingSizes{.product = 1024, .copy_bytes = int64_t{128} << 20};
  return {.product = asked.product > 0 ? asked.product : usual.product,
          .copy_bytes = asked.copy_bytes > 0 ? asked.copy_bytes : usual.copy_bytes};
}

double copy_rate(Workbench& workbench, const Effort& effort, int64_t bytes) {
  const OwnedTensor from = workbench.random_tensor(DType::kFloat32, {bytes / bytes_of(DType::kFloat32)});
  OwnedTensor to(DType::kFloat32, from.shape(), workbench.device());
  const Timing timing = time_calls(workbench.queue(), effort, [&] { workbench.queue().copy(to.view(), from.view()); });
  return 2.0 * static_cast<double>(from.view().bytes()) / timing.lowest;
}

}  // namespace

Ceilings measure_ceilings(Workbench& workbench, const Effort& effort, const CeilingSizes& asked) {
  const CeilingSizes sizes = sizes_for(workbench.device(), asked);
  const GemmShape cube{.m = sizes.product, .n = sizes.product, .k = sizes.product};
  const Measurement product = bench_gemm(workbench, effort, cube);
  return {.product = sizes.product,
          .flops_per_second = product.flops / product.timing.lowest,
          .bytes_per_second = copy_rate(workbench, effort, sizes.copy_bytes)};
}

}  // namespace segue

#include "core/bench/ceilings.h"

#include "core/bench/gemm_bench.h"

namespace segue {

namespace {

struct Sizes {
  int64_t product = 0;  // m = n = k
  int64_t copy_bytes = 0;
};

Sizes sizes_for(Device device, const CeilingSizes& asked) {
  const Sizes usual = device.is_cuda() ? Sizes{.product = 8192, .copy_bytes = int64_t{2} << 30}
                                       : Sizes{.product = 1024, .copy_bytes = int64_t{128} << 20};
  return {.product = asked.product.value_or(usual.product), .copy_bytes = asked.copy_bytes.value_or(usual.copy_bytes)};
}

double copy_rate(Workbench& workbench, const Effort& effort, int64_t bytes) {
  const OwnedTensor from = workbench.random_tensor(DType::kFloat32, {bytes / bytes_of(DType::kFloat32)});
  OwnedTensor to(DType::kFloat32, from.shape(), workbench.device());
  const Timing timing = time_calls(workbench.queue(), effort, [&] { workbench.queue().copy(to.view(), from.view()); });
  return 2.0 * static_cast<double>(from.view().bytes()) / timing.lowest;
}

}  // namespace

void CeilingSizes::describe(JsonFields& fields) {
  fields.optional(
      "peak_product", product,
      {.meaning = "rows and columns of the matrix product that measures the peak; default: large enough for the device",
       .minimum = 1});
  fields.optional(
      "copy_bytes", copy_bytes,
      {.meaning = "size of the copy that measures the bandwidth; default: several times the device's caches",
       .unit = "bytes",
       .minimum = 64,
       .maximum = 0x1p40});
}

Ceilings measure_ceilings(Workbench& workbench, const Effort& effort, const CeilingSizes& asked) {
  const Sizes sizes = sizes_for(workbench.device(), asked);
  const kernels::ProductShape cube{.m = sizes.product, .n = sizes.product, .k = sizes.product};
  const Measurement product = bench_gemm(workbench, effort, cube);
  return {.product = sizes.product,
          .flops_per_second = product.flops / product.timing.lowest,
          .bytes_per_second = copy_rate(workbench, effort, sizes.copy_bytes)};
}

}  // namespace segue

// Matrix products through the operation that the model uses.
#include "core/bench/gemm_bench.h"

#include "kernels/matmul.h"

namespace segue {

Measurement bench_gemm(Workbench& workbench, const Effort& effort, const GemmShape& shape) {
  const OwnedTensor a = workbench.random_tensor({shape.m, shape.k});
  const OwnedTensor b = workbench.random_tensor(shape.transpose_b ? Shape{shape.n, shape.k} : Shape{shape.k, shape.n});
  OwnedTensor c = workbench.empty_tensor({shape.m, shape.n});
  const kernels::Matmul product{.a = a.view(), .b = b.view(), .transpose_b = shape.transpose_b, .c = c.view()};
  const auto call = [&] { kernels::matmul(workbench.queue(), product); };
  return {.name = fmt::format("{},{},{}{}", shape.m, shape.n, shape.k, shape.transpose_b ? " weights" : ""),
          .timing = time_calls(workbench.queue(), effort, call),
          .flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k),
          .bytes = static_cast<double>(a.view().bytes() + b.view().bytes() + c.view().bytes())};
}

}  // namespace segue

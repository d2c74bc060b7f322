// Times matrix products.
#pragma once

#include <string>

#include "core/bench/report.h"
#include "core/bench/workbench.h"
#include "kernels/product_shape.h"

namespace segue {

// As users write it: M,N,K and, behind them, what it is besides: aT and bT for factors that are stored transposed, as
// [K, M] and [N, K]; + for one that adds to c. Throws UsageError.
kernels::ProductShape parse_gemm(const std::string& text);

Measurement bench_gemm(Workbench& workbench, const Effort& effort, const kernels::ProductShape& shape);

}  // namespace segue

// Times matrix products.
#pragma once

#include <cstdint>
#include <span>

#include "core/bench/report.h"
#include "core/bench/workbench.h"

namespace segue {

// [m, k] times [k, n], both as the program stores them, or the second as [n, k] where it is a weight.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool transpose_b = false;
};

Measurement bench_gemm(Workbench& workbench, const Effort& effort, const GemmShape& shape);

}  // namespace segue

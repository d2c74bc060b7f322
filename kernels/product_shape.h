// A matrix product by its extents: c = op(a) · op(b), or c += op(a) · op(b), as kernels/matmul.h computes it.
#pragma once

#include <compare>
#include <cstdint>

namespace segue::kernels {

struct ProductShape {
  int64_t m = 0;  // rows of c
  int64_t n = 0;  // columns of c
  int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  bool in_thread = false;  // computed by one thread on a processor, while others compute their own

  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  auto operator<=>(const ProductShape&) const = default;
};

}  // namespace segue::kernels

// op(a) · op(b) in three loops.
#pragma once

#include <cstdint>
#include <vector>

namespace segue::oracle {

struct Extents {
  int64_t m, n, k;
};

// a [m, k] or [k, m], b [k, n] or [n, k].
template <typename A, typename B>
auto matmul(Extents size, const std::vector<A>& a, bool transpose_a, const std::vector<B>& b, bool transpose_b) {
  std::vector<decltype(A() * B())> c(size.m * size.n);
  for (int64_t i = 0; i < size.m; ++i) {
    for (int64_t j = 0; j < size.n; ++j) {
      for (int64_t l = 0; l < size.k; ++l)
        c[i * size.n + j] +=
            a[transpose_a ? l * size.m + i : i * size.k + l] * b[transpose_b ? j * size.k + l : l * size.n + j];
    }
  }
  return c;
}

// The sum of each column of a [rows, columns] matrix.
template <typename Scalar>
std::vector<Scalar> column_sums(const std::vector<Scalar>& x, int64_t columns) {
  std::vector<Scalar> sums(columns);
  for (size_t e = 0; e < x.size(); ++e) sums[e % sums.size()] += x[e];
  return sums;
}

template <typename Scalar>
std::vector<Scalar> sum_of(std::vector<Scalar> a, const std::vector<Scalar>& b) {
  for (size_t e = 0; e < a.size(); ++e) a[e] += b[e];
  return a;
}

}  // namespace segue::oracle

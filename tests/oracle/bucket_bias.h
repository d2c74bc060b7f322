// Biases by distance from a table with a row for each bucket, and the table's gradient.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace segue::oracle {

// [N, E], of a table [R, N].
template <typename Scalar>
std::vector<Scalar> bucket_bias(const std::vector<int32_t>& buckets, const std::vector<Scalar>& table, size_t heads) {
  std::vector<Scalar> bias;
  for (size_t n = 0; n < heads; ++n) {
    for (const int32_t bucket : buckets) bias.push_back(table[static_cast<size_t>(bucket) * heads + n]);
  }
  return bias;
}

inline std::vector<double> bucket_bias_gradient(const std::vector<int32_t>& buckets, const std::vector<double>& dbias,
                                                size_t rows, size_t heads) {
  std::vector<double> dtable(rows * heads);
  for (size_t n = 0; n < heads; ++n) {
    for (size_t e = 0; e < buckets.size(); ++e)
      dtable[static_cast<size_t>(buckets[e]) * heads + n] += dbias[n * buckets.size() + e];
  }
  return dtable;
}

}  // namespace segue::oracle

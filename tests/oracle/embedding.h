// Rows of a table, scaled and masked; the gradient of the table.
#pragma once

#include <cstdint>
#include <vector>

namespace segue::oracle {

template <typename Scalar>
std::vector<Scalar> embedding(const std::vector<int32_t>& tokens, const std::vector<Scalar>& table, int64_t columns,
                              double scale, const std::vector<double>& m) {
  std::vector<Scalar> y(m.size());
  for (int64_t e = 0; e < static_cast<int64_t>(y.size()); ++e)
    y[e] = m[e] * scale * table[tokens[e / columns] * columns + e % columns];
  return y;
}

inline std::vector<double> embedding_gradient(const std::vector<int32_t>& tokens, const std::vector<double>& dy,
                                              int64_t columns, int64_t vocabulary, double scale,
                                              const std::vector<double>& m) {
  std::vector<double> dtable(vocabulary * columns);
  for (int64_t e = 0; e < static_cast<int64_t>(dy.size()); ++e)
    dtable[tokens[e / columns] * columns + e % columns] += scale * m[e] * dy[e];
  return dtable;
}

}  // namespace segue::oracle

// Rows of a table of tokens [first, ...), scaled and masked; the gradient of the table.
#pragma once

#include <cstdint>
#include <vector>

namespace segue::oracle {

template <typename Scalar>
std::vector<Scalar> embedding(const std::vector<int32_t>& tokens, const std::vector<Scalar>& table, int64_t columns,
                              double scale, const std::vector<double>& m, int64_t first = 0) {
  const int64_t held = static_cast<int64_t>(table.size()) / columns;
  std::vector<Scalar> y(m.size());
  for (int64_t e = 0; e < static_cast<int64_t>(y.size()); ++e) {
    const int64_t row = tokens[e / columns] - first;
    if (row >= 0 && row < held) y[e] = m[e] * scale * table[row * columns + e % columns];
  }
  return y;
}

inline std::vector<double> embedding_gradient(const std::vector<int32_t>& tokens, const std::vector<double>& dy,
                                              int64_t columns, int64_t held, double scale, const std::vector<double>& m,
                                              int64_t first = 0) {
  std::vector<double> dtable(held * columns);
  for (int64_t e = 0; e < static_cast<int64_t>(dy.size()); ++e) {
    const int64_t row = tokens[e / columns] - first;
    if (row >= 0 && row < held) dtable[row * columns + e % columns] += scale * m[e] * dy[e];
  }
  return dtable;
}

}  // namespace segue::oracle

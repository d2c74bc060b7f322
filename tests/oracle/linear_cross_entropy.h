// Softmax cross-entropy of some rows against a linear layer, and its gradients, straight from the formula.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/oracle/cross_entropy.h"
#include "tests/oracle/matmul.h"

namespace segue::oracle {

// x [R, E] against w [classes, E] and b [classes]; `rows` are those that count.
template <typename Scalar>
struct LinearLayer {
  std::vector<Scalar> x, w, b;
  int64_t width;
};

template <typename Scalar>
struct ChosenRows {
  std::vector<Scalar> x, logits;
  std::vector<int32_t> targets;
};

template <typename Scalar>
ChosenRows<Scalar> chosen_rows(const LinearLayer<Scalar>& layer, const std::vector<int32_t>& columns,
                               const std::vector<int32_t>& rows) {
  ChosenRows<Scalar> chosen;
  for (const int32_t row : rows) {
    chosen.targets.push_back(columns[row]);
    for (int64_t e = 0; e < layer.width; ++e) chosen.x.push_back(layer.x[row * layer.width + e]);
  }
  const int64_t classes = static_cast<int64_t>(layer.b.size());
  const Extents size{static_cast<int64_t>(rows.size()), classes, layer.width};
  chosen.logits = matmul(size, chosen.x, false, layer.w, true);
  for (size_t e = 0; e < chosen.logits.size(); ++e) chosen.logits[e] += layer.b[e % layer.b.size()];
  return chosen;
}

// The loss of every row; zero for those not chosen.
template <typename Scalar>
std::vector<Scalar> linear_cross_entropy(const LinearLayer<Scalar>& layer, const std::vector<int32_t>& columns,
                                         const std::vector<int32_t>& rows) {
  std::vector<Scalar> nll(columns.size());
  if (rows.empty()) return nll;
  const ChosenRows<Scalar> chosen = chosen_rows(layer, columns, rows);
  const std::vector<Scalar> found = cross_entropy(chosen.logits, chosen.targets).nll;
  for (size_t i = 0; i < rows.size(); ++i) nll[rows[i]] = found[i];
  return nll;
}

// The gradient of scale times the sum of all losses; dx is zero for rows not chosen.
inline LinearLayer<double> linear_cross_entropy_gradient(const LinearLayer<double>& layer,
                                                         const std::vector<int32_t>& columns,
                                                         const std::vector<int32_t>& rows, double scale) {
  const int64_t count = static_cast<int64_t>(rows.size());
  const int64_t classes = static_cast<int64_t>(layer.b.size());
  LinearLayer<double> gradient{std::vector<double>(layer.x.size()), std::vector<double>(layer.w.size()),
                               std::vector<double>(layer.b.size()), layer.width};
  if (rows.empty()) return gradient;
  const ChosenRows<double> chosen = chosen_rows(layer, columns, rows);
  const std::vector<double> dlogits = cross_entropy_gradient(chosen.logits, chosen.targets, scale);
  const std::vector<double> dx = matmul({count, layer.width, classes}, dlogits, false, layer.w, false);
  for (int64_t e = 0; e < static_cast<int64_t>(dx.size()); ++e)
    gradient.x[rows[e / layer.width] * layer.width + e % layer.width] = dx[e];
  gradient.w = matmul({classes, layer.width, count}, dlogits, true, chosen.x, false);
  gradient.b = column_sums(dlogits, classes);
  return gradient;
}

}  // namespace segue::oracle

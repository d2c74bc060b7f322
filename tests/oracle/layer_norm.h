// Layer normalisation of a residual sum, and its gradients, straight from the formula.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

namespace segue::oracle {

template <typename Scalar>
struct LayerNorm {
  std::vector<Scalar> sum, y, mean, rstd;
};

// sum [R, D] is normalised row by row.
template <typename Scalar>
LayerNorm<Scalar> layer_norm(const std::vector<Scalar>& sum, const std::vector<Scalar>& gain,
                             const std::vector<Scalar>& bias, double epsilon) {
  using std::sqrt;
  const size_t columns = gain.size();
  LayerNorm<Scalar> out{sum, sum, {}, {}};
  for (size_t first = 0; first < sum.size(); first += columns) {
    Scalar mean = 0.0;
    for (size_t d = 0; d < columns; ++d) mean += sum[first + d] / static_cast<double>(columns);
    Scalar variance = 0.0;
    for (size_t d = 0; d < columns; ++d)
      variance += (sum[first + d] - mean) * (sum[first + d] - mean) / static_cast<double>(columns);
    const Scalar rstd = 1.0 / sqrt(variance + epsilon);
    for (size_t d = 0; d < columns; ++d) out.y[first + d] = (sum[first + d] - mean) * rstd * gain[d] + bias[d];
    out.mean.push_back(mean);
    out.rstd.push_back(rstd);
  }
  return out;
}

struct LayerNormGradients {
  std::vector<double> ds, dgain, dbias;
};

// Without ds_other, which is added to ds elementwise.
inline LayerNormGradients layer_norm_gradients(const LayerNorm<double>& saved, const std::vector<double>& gain,
                                               const std::vector<double>& dy) {
  const size_t columns = gain.size();
  LayerNormGradients out{dy, std::vector<double>(columns), std::vector<double>(columns)};
  for (size_t first = 0; first < dy.size(); first += columns) {
    const double rstd = saved.rstd[first / columns];
    const auto normalised = [&](size_t d) { return (saved.sum[first + d] - saved.mean[first / columns]) * rstd; };
    double mean_g = 0.0;
    double mean_gn = 0.0;
    for (size_t d = 0; d < columns; ++d) {
      mean_g += dy[first + d] * gain[d] / static_cast<double>(columns);
      mean_gn += dy[first + d] * gain[d] * normalised(d) / static_cast<double>(columns);
    }
    for (size_t d = 0; d < columns; ++d) {
      out.ds[first + d] = rstd * (dy[first + d] * gain[d] - mean_g - normalised(d) * mean_gn);
      out.dgain[d] += dy[first + d] * normalised(d);
      out.dbias[d] += dy[first + d];
    }
  }
  return out;
}

}  // namespace segue::oracle

// Features of queries and keys and their gradients, from the formulas.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/feature_map.h"
#include "tests/oracle/head_norm.h"

namespace segue::oracle {

using kernels::FeatureFormula;

// x [R, width], empty of waves; projections [R, projected], empty of products and of rows with 1.
template <typename Scalar>
struct FeatureMapProblem {
  FeatureFormula formula;
  size_t rows, width, projected, shifts;
  double scale;
  std::vector<Scalar> x, projections;

  size_t features() const {
    return static_cast<size_t>(kernels::features_of(formula, static_cast<int64_t>(width),
                                                    static_cast<int64_t>(projected), static_cast<int64_t>(shifts)));
  }
  // s p[i] - s² |x|² / 2
  Scalar exponent(size_t row, size_t i) const {
    Scalar squares = 0.0;
    for (size_t h = 0; h < width; ++h) squares += x[row * width + h] * x[row * width + h];
    return scale * projections[row * projected + i] - scale * scale * squares / 2.0;
  }
  // relu([x, -x])[i]
  Scalar rectified(size_t row, size_t i) const {
    const Scalar value = i < width ? x[row * width + i] : -x[row * width + i - width];
    return real_part(value) > 0.0 ? value : Scalar(0.0);
  }
};

// [R, K]
template <typename Scalar>
std::vector<Scalar> feature_map(const FeatureMapProblem<Scalar>& in) {
  using enum FeatureFormula;
  std::vector<Scalar> y;
  const size_t columns = 2 * in.width;
  const double scale = 1.0 / std::sqrt(static_cast<double>(in.projected));
  for (size_t row = 0; row < in.rows; ++row) {
    const auto p = [&](size_t i) { return in.projections[row * in.projected + i]; };
    switch (in.formula) {
      case kExponential:
        for (size_t i = 0; i < in.projected; ++i) {
          const Scalar exponent = in.exponent(row, i);
          const double real = real_part(exponent);
          y.push_back(std::exp(real < -40.0 ? Scalar(-40.0) : real > 30.0 ? Scalar(30.0) : exponent));
        }
        break;
      case kWave:
        for (size_t i = 0; i < in.projected; ++i) y.push_back(std::sin(p(i)) * scale);
        for (size_t i = 0; i < in.projected; ++i) y.push_back(std::cos(p(i)) * scale);
        break;
      case kProducts:
        for (size_t shift = 1; shift <= in.shifts; ++shift) {
          for (size_t i = 0; i < columns; ++i)
            y.push_back(in.rectified(row, i) * in.rectified(row, (i + columns - shift) % columns));
        }
        break;
      case kWithOne:
        for (size_t h = 0; h < in.width; ++h) y.push_back(in.x[row * in.width + h]);
        y.push_back(1.0);
        break;
    }
  }
  return y;
}

struct FeatureMapGradients {
  std::vector<double> x, projections;
};

// Of the sum of y weighted by dy [R, K].
inline FeatureMapGradients feature_map_gradients(const FeatureMapProblem<double>& in, const std::vector<double>& dy) {
  using enum FeatureFormula;
  FeatureMapGradients to{.x = std::vector<double>(in.x.size()),
                         .projections = std::vector<double>(in.projections.size())};
  const size_t columns = 2 * in.width;
  const double scale = 1.0 / std::sqrt(static_cast<double>(in.projected));
  for (size_t row = 0; row < in.rows; ++row) {
    const double* gradient = dy.data() + row * in.features();
    const double* x = in.x.data() + row * in.width;
    const double* p = in.projections.data() + row * in.projected;
    double* dx = to.x.data() + row * in.width;
    double* dp = to.projections.data() + row * in.projected;
    switch (in.formula) {
      case kExponential:
        for (size_t i = 0; i < in.projected; ++i) {
          const double exponent = in.exponent(row, i);
          if (exponent < -40.0 || exponent > 30.0) continue;
          const double dexponent = gradient[i] * std::exp(exponent);
          dp[i] = in.scale * dexponent;
          for (size_t h = 0; h < in.width; ++h) dx[h] -= in.scale * in.scale * x[h] * dexponent;
        }
        break;
      case kWave:
        for (size_t i = 0; i < in.projected; ++i)
          dp[i] = (gradient[i] * std::cos(p[i]) - gradient[in.projected + i] * std::sin(p[i])) * scale;
        break;
      case kProducts:
        for (size_t shift = 1; shift <= in.shifts; ++shift, gradient += columns) {
          for (size_t i = 0; i < columns; ++i) {
            const size_t other = (i + columns - shift) % columns;
            const double one = in.rectified(row, i), two = in.rectified(row, other);
            if (one > 0.0) dx[i % in.width] += (i < in.width ? 1.0 : -1.0) * gradient[i] * two;
            if (two > 0.0) dx[other % in.width] += (other < in.width ? 1.0 : -1.0) * gradient[i] * one;
          }
        }
        break;
      case kWithOne:
        for (size_t h = 0; h < in.width; ++h) dx[h] = gradient[h];
        break;
    }
  }
  return to;
}

}  // namespace segue::oracle

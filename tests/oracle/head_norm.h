// Activation, norm, gain and gate of heads, from the formulas.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include "kernels/head_norm.h"

namespace segue::oracle {

inline double real_part(double x) { return x; }
inline double real_part(const std::complex<double>& x) { return x.real(); }

template <typename Scalar>
Scalar silu(const Scalar& x) {
  return x / (1.0 + std::exp(-x));
}

template <typename Scalar>
Scalar feature_of(kernels::Feature feature, const Scalar& x) {
  using enum kernels::Feature;
  const bool is_positive = real_part(x) > 0.0;
  switch (feature) {
    case kIdentity:
      return x;
    case kSilu:
      return silu(x);
    case kRelu:
      return is_positive ? x : Scalar(0.0);
    case kEluPlusOne:
      return is_positive ? x + 1.0 : std::exp(x);
  }
  return NAN;
}

// x and gate [R, H], gain [H], the latter two or one of them empty.
template <typename Scalar>
struct HeadNormProblem {
  kernels::Feature feature;
  kernels::HeadNorm norm;
  double epsilon;
  size_t width;
  std::vector<Scalar> x, gain, gate;
};

// [R, H]
template <typename Scalar>
std::vector<Scalar> head_norm(const HeadNormProblem<Scalar>& in) {
  std::vector<Scalar> y;
  for (size_t first = 0; first < in.x.size(); first += in.width) {
    Scalar squares = 0.0;
    for (size_t h = 0; h < in.width; ++h) {
      const Scalar a = feature_of(in.feature, in.x[first + h]);
      squares += a * a;
    }
    if (in.norm == kernels::HeadNorm::kRootMeanSquare) squares /= static_cast<double>(in.width);
    const Scalar scale = in.norm == kernels::HeadNorm::kNone ? Scalar(1.0) : 1.0 / std::sqrt(squares + in.epsilon);
    for (size_t h = 0; h < in.width; ++h) {
      Scalar result = feature_of(in.feature, in.x[first + h]) * scale;
      if (!in.gain.empty()) result *= in.gain[h];
      if (!in.gate.empty()) result *= silu(in.gate[first + h]);
      y.push_back(result);
    }
  }
  return y;
}

}  // namespace segue::oracle

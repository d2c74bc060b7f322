// Features of the queries and keys of linear attention, row by row: what a head's row becomes before a state keeps it.
//
// Of a row x of H columns, or of its M projections p, which a product of matrices made before:
//
//   kExponential  y[i] = e^z[i],  z[i] = min(30, max(-40, s p[i] - s² |x|² / 2))    positive features, whose products
//                 are e^(s² q · k) in the mean where projections are on normal directions
//                 (Choromanski et al. 2021, arXiv:2009.14794)
//                 dz[i] = dy[i] y[i] where z[i] is not cut, otherwise 0;  dp = s dz;  dx = -s² x (sum of dz), to which
//                 the caller adds what x receives through p
//   kWave         y = [sin p, cos p] / sqrt(M)    products are the mean of cos(p - p') (Peng et al. 2021,
//                 arXiv:2103.02143)
//                 dp = (dy_sin cos p - dy_cos sin p) / sqrt(M)
//   kProducts     a = relu([x, -x]);  y[2H (j-1) + i] = a[i] a[(i - j) mod 2H], j = 1 .. shifts    (DPFP: Schlag et al.
//                 2021, arXiv:2102.11174)
//                 da[i] = sum over j of dy[2H (j-1) + i] a[(i - j) mod 2H] + dy[2H (j-1) + n] a[n], n = (i + j) mod 2H
//                 dx[h] = da[h] where x[h] > 0, -da[H + h] where x[h] < 0, otherwise 0
//   kWithOne      y = [x, 1]    of values: the column whose sum over a state is the sum of weights
//                 dx = dy without its last column
//
// Exponents are cut so that in float32 each product of two features, between e^-80 and e^60, and each sum of those over
// a text is finite and above 0. No maximum over tokens is taken out, since a later
// token would then change an earlier one.
//
// NaN stays within its row. Deterministic, also over thread counts. A: the dtype of activations, float32 or bfloat16,
// one for all of a call; arithmetic is in float32.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

constexpr int64_t kMaxFeatures = 512;  // H and K, at most
constexpr float kLeastFeatureExponent = -40.0F;
constexpr float kLargestFeatureExponent = 30.0F;

enum class FeatureFormula : uint8_t { kExponential, kWave, kProducts, kWithOne };

// K, of rows of H columns with M projections.
constexpr int64_t features_of(FeatureFormula formula, int64_t width, int64_t projections, int64_t shifts) {
  switch (formula) {
    case FeatureFormula::kExponential:
      return projections;
    case FeatureFormula::kWave:
      return 2 * projections;
    case FeatureFormula::kProducts:
      return 2 * width * shifts;
    case FeatureFormula::kWithOne:
      return width + 1;
  }
  return 0;
}

struct FeatureMapInputs {
  FeatureFormula formula = FeatureFormula::kExponential;
  int64_t shifts = 0;                // of kProducts, from 1 to 2H - 1; otherwise 0
  float scale = 1.0F;                // s of kExponential, above 0; otherwise 1
  ConstTensorView x = {};            // [R, H] A in; empty with kWave
  ConstTensorView projections = {};  // [R, M] A in; empty with kProducts and kWithOne
};

struct FeatureMapForward {
  FeatureMapInputs inputs;
  TensorView y;  // [R, K] A out, overwritten; not aliased
};
void feature_map_forward(Queue& queue, const FeatureMapForward& args);

struct FeatureMapBackward {
  FeatureMapInputs inputs;  // as in the forward
  ConstTensorView y;        // [R, K] A in, as the forward made it: read by kExponential, otherwise it may be empty
  ConstTensorView dy;       // [R, K] A in
  TensorView dx;            // [R, H] A out, overwritten; empty where x is; not aliased
  TensorView dprojections;  // [R, M] A out, overwritten; empty where projections are; not aliased
};
void feature_map_backward(Queue& queue, const FeatureMapBackward& args);

}  // namespace segue::kernels

// exp, sine and cosine, tanh, and the normal distribution in float32, written so that the compiler vectorises them.
//
// Straight-line code without branches, calls or tables: inside a loop under `#pragma omp simd` each of these becomes
// vector instructions of the machine's full width. FMA is written out, so results do not depend on compiler options.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// e^x = power * 2^exponent: x = n ln 2 + r with |r| <= ln 2 / 2, then a polynomial fitted to (e^r - 1 - r) / r². For
// finite x that is not huge.
struct ExpParts {
  float power;
  int32_t exponent;
};
inline ExpParts exp_parts(float x) {
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  constexpr float kLn2High = 0x1.62e43p-1F;
  constexpr float kLn2Low = -0x1.05c61p-29F;
  const float rounded = std::fma(x, 1.44269504F, kRounder);
  const float n = rounded - kRounder;
  const float r = std::fma(n, -kLn2Low, std::fma(n, -kLn2High, x));
  float q = 0.00137511501F;
  q = std::fma(q, r, 0.00836898759F);
  q = std::fma(q, r, 0.0416695438F);
  q = std::fma(q, r, 0.166665182F);
  q = std::fma(q, r, 0.499999881F);
  return {1.0F + std::fma(r * r, q, r), std::bit_cast<int32_t>(rounded) - std::bit_cast<int32_t>(kRounder)};
}

// 2^n for n in [-126, 127].
inline float power_of_two(int32_t n) { return std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23); }

// e^x within 1 ulp (2 ulp allowed), also where the result is subnormal; -inf gives 0, above 88.8 infinity, NaN stays
// NaN.
inline float exp_float(float x) {
  x = x < -104.0F ? -104.0F : x;  // e^-104 rounds to 0
  x = x > 89.0F ? 89.0F : x;      // e^89 overflows
  const ExpParts e = exp_parts(x);
  // In two factors, because n reaches from -150 to 128 and a float's exponent does not.
  const int32_t half = e.exponent >> 1;
  return e.power * power_of_two(half) * power_of_two(e.exponent - half);
}

// The sine and cosine of an angle of at most kLargestTurn, to 1e-7; NaN stays NaN.
struct Turn {
  float sine, cosine;
};
constexpr float kLargestTurn = 131072.0F;

// n quarters of a turn are taken off: the first of the parts of pi / 2 without rounding, since n has few bits. The
// polynomials are those of Cephes for at most half a quarter.
inline Turn turn_of(float angle) {
  constexpr float kRounder = 12582912.0F;  // as in exp_parts
  const float rounded = std::fma(angle, 0.636619772F, kRounder);
  const float n = rounded - kRounder;
  float r = std::fma(n, -0x1.921fb6p+0F, angle);
  r = std::fma(n, 0x1.777a5cp-25F, r);
  r = std::fma(n, 0x1.ee59dap-50F, r);
  const float square = r * r;
  float sine = std::fma(-1.95152959e-4F, square, 8.33216087e-3F);
  sine = std::fma(sine, square, -1.66666546e-1F);
  sine = std::fma(sine * square, r, r);
  float cosine = std::fma(2.44331571e-5F, square, -1.38873163e-3F);
  cosine = std::fma(cosine, square, 4.16666457e-2F);
  cosine = std::fma(cosine, square, -0.5F);
  cosine = std::fma(cosine, square, 1.0F);
  const auto quarters = std::bit_cast<uint32_t>(rounded);
  const bool is_odd = (quarters & 1) != 0;
  const auto turned = [](float value, uint32_t halves) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ (halves & 2) << 30);
  };
  return {turned(is_odd ? cosine : sine, quarters), turned(is_odd ? sine : cosine, quarters + 1)};
}

inline float sigmoid(float x) {
  const float e = exp_float(-std::fabs(x));
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

// The hyperbolic tangent, to 2e-7 of itself; NaN stays NaN. The polynomial near 0 is that of Cephes.
inline float tanh_float(float x) {
  const float square = x * x;
  float near = std::fma(-5.70498872745e-3F, square, 2.06390887954e-2F);
  near = std::fma(near, square, -5.37397155531e-2F);
  near = std::fma(near, square, 1.33314422036e-1F);
  near = std::fma(near, square, -3.33332819422e-1F);
  near = std::fma(near * square, x, x);
  const float e = exp_float(-2.0F * std::fabs(x));
  const float far = std::copysign((1.0F - e) / (1.0F + e), x);
  return std::fabs(x) < 0.625F ? near : far;
}

// The standard normal distribution at one point.
struct Normal {
  float density;     // exp(-x²/2) / sqrt(2 pi)
  float cumulative;  // Phi(x) = (1 + erf(x / sqrt 2)) / 2, to about 3e-7 of itself also far down the left tail
};

// The upper tail is exp(-t²/2) * ratio(t), t = |x|; the ratio is smooth, a polynomial in 1 / (1 + 0.26 t) fitted to
// 5e-8.
inline Normal standard_normal(float x) {
  float t = std::fabs(x);
  t = t > 20.0F ? 20.0F : t;  // the bell is 0 from 14.5 on; keeps t² finite
  const float square = t * t;
  const float rest = std::fma(t, t, -square);  // what rounding took from t²; exp would magnify it
  float bell = exp_float(-0.5F * square);
  bell = std::fma(bell, -0.5F * rest, bell);
  const float u = 1.0F / std::fma(0.26F, t, 1.0F);
  float ratio = 0.0299611632F;
  ratio = std::fma(ratio, u, -0.15019241F);
  ratio = std::fma(ratio, u, 0.246055901F);
  ratio = std::fma(ratio, u, -0.144740462F);
  ratio = std::fma(ratio, u, 0.156660855F);
  ratio = std::fma(ratio, u, 0.0528558195F);
  ratio = std::fma(ratio, u, 0.102561101F);
  ratio = std::fma(ratio, u, 0.10308288F);
  ratio = std::fma(ratio, u, 0.103755146F);
  const float tail = bell * ratio * u;
  return {0.398942280F * bell, x < 0.0F ? tail : 1.0F - tail};
}

// x Phi(x), and its derivative Phi(x) + x phi(x).
inline float gelu(float x) { return x * standard_normal(x).cumulative; }
inline float gelu_derivative(float x) {
  const Normal normal = standard_normal(x);
  return std::fma(x, normal.density, normal.cumulative);
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

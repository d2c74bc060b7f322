// How far a kernel may be from the double oracle, by dtype and kind. The only place with such numbers.
#pragma once

namespace segue::kernels {

// |found - expected| <= relative * scale, where scale is the largest |expected| of the tensor, at least kSmallestScale.
// Against the tensor's scale, not each element: sums of signed terms cancel, and what is left carries the rounding of
// the terms.
struct Tolerance {
  double relative;
};

// A scale below this is the noise of a sum that cancels altogether.
constexpr double kSmallestScale = 1e-3;

// One or two roundings of the value itself: products, copies with a multiplier. float32 has eps = 6e-8.
constexpr Tolerance kElementwise{2.5e-7};

// A sum of n float32 products, n <= 4096 in the tests, in some order: error about eps * sqrt(n) = 4e-6 for terms of
// random sign, plus what exp, erf or rsqrt add (a few eps).
constexpr Tolerance kReduction{1e-5};

// Gradients chain two such sums (a product of a product, a normalised row).
constexpr Tolerance kGradient{3e-5};

// bfloat16 against the naive bfloat16 path: outputs and gradients have at most these multiples of its error (a gradient
// chains more roundings, and the largest of many is a matter of luck), plus a little of the tensor's scale where its
// error is nothing.
constexpr double kBFloat16Output = 2.0;
constexpr double kBFloat16Gradient = 3.0;
constexpr double kBFloat16Slack = 1e-5;

// The oracle's own gradients against complex-step differentiation: only double rounding (1e-16) and sums remain.
constexpr Tolerance kComplexStep{1e-10};

// Two ways to the same number in double, through some hundred sums of some dozen terms each.
constexpr Tolerance kDoubleRounding{1e-12};

// The values of a whole network of a few layers, losses and hidden states, in single precision.
constexpr Tolerance kNetwork{1e-5};

// Gradients of a whole network: what single precision reaches against the reference model, whose sizes are alike.
constexpr Tolerance kNetworkGradient{1e-5};

// The same where layers keep a state: what a head reads is a sum whose terms cancel, and its norm divides by what is
// left. Of 40 models of the tests' sizes, epsilon 1e-2 as there, PyTorch's float32 is off from its double by 1e-6 to
// 3e-6 of a tensor's largest entry at the median, 4.5e-5 at most; with softmax attention by 8e-7 and 2.2e-6
// (benchmarks/state_rounding). So also where a memory associates, whose features are scaled to length 1: at heads of 8
// columns; of 5, where products of neighbours are next to 0, 1e-4 was seen.
constexpr Tolerance kStateGradient{5e-5};

// Single precision against the reference model in double, absolute: losses in nats, and weights after twelve steps of
// Adam, which amplifies the rounding of tiny gradients.
constexpr double kGoldenLoss = 2e-5;
constexpr double kGoldenTrainedWeight = 1e-3;

// Norms of gradients along those steps, measured at 1e-6.
constexpr Tolerance kGoldenGradientNorm{1e-5};

}  // namespace segue::kernels

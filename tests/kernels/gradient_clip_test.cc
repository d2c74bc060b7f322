// The norm of gradients against a sum in long double, and its independence of threads.
#include "kernels/gradient_clip.h"

#include <array>

#include "tests/kernels/testing.h"

namespace segue::kernels {

namespace {

double norm_of(const TestTensor& gradients) {
  long double sum = 0.0L;
  for (int64_t i = 0; i < gradients.shape()[0]; ++i)
    sum += static_cast<long double>(gradients.as<float>()[i]) * gradients.as<float>()[i];
  return std::sqrt(static_cast<double>(sum));
}

// Norm and scale.
std::array<double, 2> clipped(int threads, const TestTensor& gradients, double clip) {
  Queue queue(test_device(), threads);
  TestTensor parts(DType::kFloat64, {kGradientNormParts});
  TestTensor outcome(DType::kFloat64, {2});
  gradient_norm(queue, {gradients.view(), parts.view()});
  clip_gradients(queue, {parts.view(), clip, outcome.view()});
  return {outcome.as<double>()[0], outcome.as<double>()[1]};
}

TEST(GradientClip, NormEqualsTheSumInDouble) {
  for (const int64_t count : {0, 1, 257, 1031, 600004}) {
    const TestTensor g = random_tensor({count}, 1);
    const double expected = norm_of(g);
    const auto [norm, scale] = clipped(2, g, 0.0);
    EXPECT_NEAR(norm, expected, 1e-12 * expected);  // 6e5 additions in double, in hundreds of sums
    EXPECT_EQ(scale, 1.0);
  }
}

TEST(GradientClip, ScaleBringsTheNormDownToTheClip) {
  const TestTensor g = random_tensor({1031}, 1);
  const double norm = norm_of(g);
  EXPECT_NEAR(clipped(1, g, 0.25)[1], 0.25 / (norm + 1e-6), 1e-12);
  EXPECT_EQ(clipped(1, g, 2.0 * norm)[1], 1.0);
}

TEST(GradientClip, SameBitsOnAnyNumberOfThreads) {
  const TestTensor g = random_tensor({100003}, 1);
  const std::array<double, 2> one = clipped(1, g, 0.25);
  EXPECT_EQ(clipped(2, g, 0.25), one);
  EXPECT_EQ(clipped(3, g, 0.25), one);
}

TEST(GradientClip, NanIsNotLost) {
  TestTensor g = random_tensor({50000}, 1);
  g.as<float>()[49999] = NAN;
  EXPECT_TRUE(std::isnan(clipped(2, g, 0.25)[0]));
}

}  // namespace

}  // namespace segue::kernels

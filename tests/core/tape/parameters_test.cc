// Parameters: their layout in one block, and what they start from.
#include "core/tape/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/model/parameter_specs.h"
#include "tests/message_of.h"

namespace segue {
namespace {

Parameters sample() {
  return Parameters({{"weight", {100, 101}, Initializer::kWeight},
                     {"projection", {100, 100}, Initializer::kProjection},
                     {"gain", {10001}, Initializer::kGain},
                     {"bias", {3}, Initializer::kZero},
                     {"other", {100, 101}, Initializer::kWeight}});
}

std::vector<double> values_of(Parameters& parameters, const char* name) {
  const TensorView view = parameters[name].value;
  return {view.as<float>(), view.as<float>() + view.elements()};
}

struct Moments {
  double mean, deviation;
};
Moments moments_of(const std::vector<double>& values) {
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(values.size());
  return {sum / count, std::sqrt(squares / count - sum * sum / count / count)};
}

// For 10^4 normal numbers the mean is known to 1/100 of the deviation, the deviation to 1/141: four times that here.
void expect_normal(const std::vector<double>& values, double mean, double deviation) {
  const Moments found = moments_of(values);
  EXPECT_NEAR(found.mean, mean, 0.04 * deviation);
  EXPECT_NEAR(found.deviation, deviation, 0.03 * deviation);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), mean + 3.0 * deviation);  // one of 740 is beyond
}

TEST(Parameters, NormalStart) {
  Parameters parameters = sample();
  parameters.initialize({.kind = InitKind::kNormal, .init_std = 0.02, .proj_init_std = 0.01}, 5);
  expect_normal(values_of(parameters, "weight"), 0.0, 0.02);
  expect_normal(values_of(parameters, "projection"), 0.0, 0.01);
  expect_normal(values_of(parameters, "gain"), 1.0, 0.02);
  EXPECT_EQ(values_of(parameters, "bias"), std::vector<double>(3));
}

// Only weights follow `kind`; projections and gains are normal in both.
TEST(Parameters, UniformStart) {
  Parameters parameters = sample();
  parameters.initialize({.kind = InitKind::kUniform, .init_std = 0.02, .init_range = 0.3, .proj_init_std = 0.01}, 5);
  const std::vector<double> weight = values_of(parameters, "weight");
  EXPECT_NEAR(*std::min_element(weight.begin(), weight.end()), -0.3, 0.001);
  EXPECT_NEAR(*std::max_element(weight.begin(), weight.end()), 0.3, 0.001);
  EXPECT_NEAR(moments_of(weight).deviation, 0.3 / std::sqrt(3.0), 0.005);
  expect_normal(values_of(parameters, "projection"), 0.0, 0.01);
  expect_normal(values_of(parameters, "gain"), 1.0, 0.02);
}

// In every block of as many as they have columns; their lengths are those of normal vectors.
TEST(Parameters, RandomDirectionsAreOrthogonalAndAsLongAsNormalVectors) {
  constexpr int64_t kDirections = 600, kWidth = 24;
  Parameters parameters({{"directions", {kDirections, kWidth}, Initializer::kDirections}});
  parameters.initialize({}, 5);
  const std::vector<double> all = values_of(parameters, "directions");
  const auto product = [&](int64_t a, int64_t b) {
    return std::inner_product(all.begin() + a * kWidth, all.begin() + (a + 1) * kWidth, all.begin() + b * kWidth, 0.0);
  };
  std::vector<double> squares;
  for (int64_t a = 0; a < kDirections; ++a) {
    squares.push_back(product(a, a));
    for (int64_t b = a / kWidth * kWidth; b < a; ++b) ASSERT_NEAR(product(a, b), 0.0, 1e-4) << a << ", " << b;
  }
  // Chi-squared: mean H, variance 2 H, each known to four times its deviation of 600 draws.
  const Moments found = moments_of(squares);
  EXPECT_NEAR(found.mean, kWidth, 4.0 * std::sqrt(2.0 * kWidth / kDirections));
  EXPECT_NEAR(found.deviation, std::sqrt(2.0 * kWidth), 0.15 * std::sqrt(2.0 * kWidth));
}

TEST(Parameters, WhatIsNotLearnedIsDrawnAnewAndNotCounted) {
  Parameters parameters({{"weight", {3, 4}}, {"directions", {7, 4}, Initializer::kDirections}});
  EXPECT_EQ(parameters.count(), 12);
  parameters.initialize({}, 5);
  const std::vector<double> weight = values_of(parameters, "weight"), first = values_of(parameters, "directions");
  parameters.redraw(5, 1);
  EXPECT_EQ(values_of(parameters, "weight"), weight);
  EXPECT_NE(values_of(parameters, "directions"), first);
  parameters.redraw(5, 0);
  EXPECT_EQ(values_of(parameters, "directions"), first);
}

TEST(Parameters, StartDependsOnSeedAndName) {
  Parameters a = sample();
  Parameters b = sample();
  a.initialize({}, 5);
  b.initialize({}, 5);
  EXPECT_EQ(values_of(a, "weight"), values_of(b, "weight"));
  EXPECT_NE(values_of(a, "weight"), values_of(a, "other"));
  b.initialize({}, 6);
  EXPECT_NE(values_of(a, "weight"), values_of(b, "weight"));
}

// A model with one parameter more begins with the same values in all others.
TEST(Parameters, StartDoesNotDependOnOtherParameters) {
  const std::vector<ParameterSpec> specs{{"first", {3, 5}}, {"gain", {4}, Initializer::kGain}, {"last", {7}}};
  Parameters some({specs[0], specs[2]});
  Parameters all({specs[2], specs[1], specs[0]});
  some.initialize({}, 5);
  all.initialize({}, 5);
  for (const char* name : {"first", "last"}) EXPECT_EQ(values_of(some, name), values_of(all, name)) << name;
}

// Whoever trained from a seed trains from it again: these numbers stay.
TEST(Parameters, StartStaysWhatItIs) {
  Parameters parameters({{"embedding.table", {2, 2}}});
  parameters.initialize({.init_std = 1.0}, 42);
  const std::vector<double> expected{-0.0704810917, -0.0986144096, 1.05219769, 0.156882346};
  const std::vector<double> found = values_of(parameters, "embedding.table");
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-7) << i;
}

TEST(Parameters, EachBeginsOnACacheLine) {
  Parameters parameters = sample();
  const std::byte* first = parameters.values().data;
  int64_t end = 0;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const TensorView part = parameters.part_of(parameters.values(), i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(part.data) % 64, 0U);
    EXPECT_GE(part.data - first, end);
    end = part.data - first + part.bytes();
  }
  EXPECT_LE(end, parameters.values().bytes());
  EXPECT_EQ(parameters.count(), 100 * 101 + 100 * 100 + 10001 + 3 + 100 * 101);
}

TEST(Parameters, GradientsBeginAtZeroAndAreClearedToIt) {
  Parameters parameters = sample();
  const TensorView gradients = parameters.gradients();
  const auto all_zero = [&] {
    return std::all_of(gradients.as<float>(), gradients.as<float>() + gradients.elements(),
                       [](float x) { return x == 0.0F; });
  };
  EXPECT_TRUE(all_zero());
  *parameters["bias"].gradient.as<float>() = 3.0F;
  EXPECT_FALSE(all_zero());
  kernels::Queue queue(1);
  parameters.clear_gradients(queue);
  EXPECT_TRUE(all_zero());
}

TEST(Parameters, UnknownNamesAreRefused) {
  Parameters parameters = sample();
  EXPECT_TRUE(parameters.contains("gain"));
  EXPECT_FALSE(parameters.contains("gains"));
  EXPECT_EQ(message_of<ContractError>([&] { parameters["gains"]; }), "no parameter is called gains");
}

// Counted by hand: the layers, embedding 256 * 256, head bias 256, u and w 2 * 256.
TEST(Parameters, OfTheDefaultModel) {
  const Parameters parameters(parameter_specs(ModelConfig{}, 256));
  constexpr int64_t kLayer = 3 * 256 * 256 + 256 * 256 + 256 * 256 + 2 * 512 + 2 * 256 * 1024 + 1024 + 256;
  EXPECT_EQ(parameters.count(), 4 * kLayer + 256 * 256 + 256 + 2 * 256);
}

TEST(Parameters, OfAPlanMayBeLargerThanMemory) {
  constexpr int64_t kRows = int64_t{1} << 24;
  Parameters parameters =
      Parameters::planned({{"huge", {kRows, 1 << 14}},
                           {.name = "ones", .shape = {3}, .initializer = Initializer::kConstant, .constant = 1}},
                          DType::kBFloat16);
  EXPECT_EQ(parameters.count(), (kRows << 14) + 3);
  EXPECT_EQ(parameters["ones"].value.as<float>()[2], 1.0F);
  EXPECT_EQ(parameters["huge"].gradient.rows(kRows - 1, 1).as<float>()[0], 0.0F);
  EXPECT_FALSE(parameters["huge"].operand().empty());
}

}  // namespace
}  // namespace segue

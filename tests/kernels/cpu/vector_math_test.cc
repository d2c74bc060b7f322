// Accuracy of the vectorised functions over their whole range, in units of the last place.
#include "kernels/cpu/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace segue::kernels {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Distance in units of the last place of the exact value's float neighbourhood, subnormals included.
double ulps(double found, double exact) {
  const double unit = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
  return std::abs(found - exact) / unit;
}

TEST(VectorMath, ExpWithinTwoUlps) {
  double worst = 0.0;
  for (uint32_t bits = 0; bits < 0x42B20000U; bits += 997) {  // magnitudes up to 89, dense near zero
    for (const float x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
      const double exact = std::exp(static_cast<double>(x));
      if (exact > std::numeric_limits<float>::max()) continue;
      worst = std::max(worst, ulps(static_cast<double>(cpu::exp_float(x)), exact));
    }
  }
  for (float x = -104.0F; x < -86.0F; x += 1e-3F)  // subnormal results
    worst = std::max(worst, ulps(static_cast<double>(cpu::exp_float(x)), std::exp(static_cast<double>(x))));
  EXPECT_LE(worst, 2.0);
  RecordProperty("worst_ulps", std::to_string(worst));
}

TEST(VectorMath, ExpAtTheEnds) {
  EXPECT_EQ(cpu::exp_float(0.0F), 1.0F);
  EXPECT_EQ(cpu::exp_float(-kInfinity), 0.0F);
  EXPECT_EQ(cpu::exp_float(-1e30F), 0.0F);
  EXPECT_EQ(cpu::exp_float(kInfinity), kInfinity);
  EXPECT_EQ(cpu::exp_float(88.8F), kInfinity);
  EXPECT_TRUE(std::isnan(cpu::exp_float(NAN)));
}

TEST(VectorMath, InALoopAsAlone) {
  std::array<float, 1000> x{};
  std::array<float, 1000> y{};
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.2F * (static_cast<float>(i) - 600.0F);
#pragma omp simd
  for (size_t i = 0; i < x.size(); ++i) y[i] = cpu::exp_float(x[i]);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], cpu::exp_float(x[i])) << x[i];
}

TEST(VectorMath, TurnsOfAllAngles) {
  double worst = 0.0;
  for (float size = 0.0F; size <= cpu::kLargestTurn; size = size * 1.00005F + 5e-5F) {
    for (const float angle : {size, -size}) {
      const cpu::Turn turn = cpu::turn_of(angle);
      worst = std::max(worst, std::abs(static_cast<double>(turn.sine) - std::sin(static_cast<double>(angle))));
      worst = std::max(worst, std::abs(static_cast<double>(turn.cosine) - std::cos(static_cast<double>(angle))));
    }
  }
  EXPECT_LE(worst, 1e-7);
  RecordProperty("worst_in_billionths", std::to_string(1e9 * worst));
  EXPECT_TRUE(std::isnan(cpu::turn_of(NAN).sine));
  EXPECT_TRUE(std::isnan(cpu::turn_of(NAN).cosine));
}

TEST(VectorMath, HyperbolicTangent) {
  double worst = 0.0;
  for (float x = 1e-6F; x < 12.0F; x = x * 1.0001F + 1e-7F) {
    const double exact = std::tanh(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(cpu::tanh_float(x)) / exact - 1.0));
    ASSERT_EQ(cpu::tanh_float(-x), -cpu::tanh_float(x));
  }
  EXPECT_LE(worst, 2e-7);
  RecordProperty("worst_in_billionths", std::to_string(1e9 * worst));
  EXPECT_EQ(cpu::tanh_float(0.0F), 0.0F);
  EXPECT_EQ(cpu::tanh_float(1e30F), 1.0F);
  EXPECT_EQ(cpu::tanh_float(-kInfinity), -1.0F);
  EXPECT_TRUE(std::isnan(cpu::tanh_float(NAN)));
}

TEST(VectorMath, NormalDistribution) {
  double worst_cumulative = 0.0;
  double worst_density = 0.0;
  for (float x = -12.0F; x < 12.0F; x += 1e-4F) {
    const double exact_x = static_cast<double>(x);
    const double cumulative = 0.5 * std::erfc(-exact_x * M_SQRT1_2);
    const double density = std::exp(-0.5 * exact_x * exact_x) * M_2_SQRTPI * M_SQRT1_2 / 2.0;
    const cpu::Normal found = cpu::standard_normal(x);
    worst_cumulative = std::max(worst_cumulative, std::abs(static_cast<double>(found.cumulative) / cumulative - 1.0));
    worst_density = std::max(worst_density, std::abs(static_cast<double>(found.density) / density - 1.0));
  }
  EXPECT_LE(worst_cumulative, 5e-7);  // polynomial 5e-8, then about five roundings of 6e-8
  EXPECT_LE(worst_density, 3e-7);
}

TEST(VectorMath, GeluAtTheEnds) {
  EXPECT_EQ(cpu::gelu(0.0F), 0.0F);
  EXPECT_EQ(cpu::gelu(50.0F), 50.0F);
  EXPECT_EQ(cpu::gelu(-50.0F), 0.0F);
  EXPECT_EQ(cpu::gelu(1e30F), 1e30F);
  EXPECT_EQ(cpu::gelu_derivative(1e30F), 1.0F);
  EXPECT_EQ(cpu::gelu_derivative(-1e30F), 0.0F);
  EXPECT_TRUE(std::isnan(cpu::gelu(NAN)));
}

}  // namespace

}  // namespace segue::kernels

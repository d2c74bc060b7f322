// Sums divided by their weights: against the oracle, at the floor, and where sums are very small and very large.
#include "kernels/weighted_average.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/weighted_average.h"

namespace segue::kernels {

namespace {

constexpr float kFloor = 0.25F;
constexpr float kSmallest = std::numeric_limits<float>::min();  // processors take smaller ones as 0

struct Problem {
  TestTensor sums, dy;

  // A weight in each row that is no smaller than 0.3, or that lies below the floor where random ones do.
  Problem(int64_t rows, int64_t width, DType dtype, bool below_floor = false) {
    TestTensor drawn = random_tensor({rows, width + 1}, 1);
    for (int64_t row = 0; row < rows; ++row) {
      float& weights = drawn.as<float>()[row * (width + 1) + width];
      if (!below_floor) weights += std::copysign(0.3F, weights);
    }
    sums = cast(std::move(drawn), dtype);
    dy = cast(random_tensor({rows, width}, 2), dtype);
  }
  size_t width() const { return static_cast<size_t>(dy.shape()[1]); }
};

struct Solution {
  TestTensor y, dsums;
};

Solution solve(const Problem& p, int threads = 2, float floor = kFloor) {
  Queue queue(test_device(), threads);
  const DType dtype = p.dy.view().dtype;
  Solution s{.y = cast(unset_tensor(p.dy.shape()), dtype), .dsums = cast(unset_tensor(p.sums.shape()), dtype)};
  weighted_average_forward(queue, {.sums = p.sums.view(), .floor = floor, .y = s.y.view()});
  weighted_average_backward(queue, {.sums = p.sums.view(), .floor = floor, .dy = p.dy.view(), .dsums = s.dsums.view()});
  return s;
}

void expect_oracle(const Problem& p) {
  SCOPED_TRACE(p.sums.shape().text());
  const Solution s = solve(p);
  const std::vector<double> sums = values(p.sums);
  expect_close("y", s.y.view(), oracle::weighted_average(sums, p.width(), kFloor), kElementwise);
  expect_close("dsums", s.dsums.view(), oracle::weighted_average_gradient(sums, p.width(), kFloor, values(p.dy)),
               kElementwise);
}

TEST(WeightedAverageTest, EqualsTheOracle) {
  for (const bool below_floor : {false, true}) {
    for (const int64_t rows : {1, 31, 32, 33, 97}) {
      for (const int64_t width : {1, 7, 31, 32, 33, 64, 130})
        expect_oracle(Problem(rows, width, DType::kFloat32, below_floor));
    }
  }
}

TEST(WeightedAverageTest, EqualsTheOracleInBFloat16) {
  for (const auto [rows, width] : {std::array<int64_t, 2>{33, 64}, {97, 31}}) {
    const Problem p(rows, width, DType::kBFloat16, true);
    const Solution s = solve(p);
    const std::vector<double> y = oracle::weighted_average(values(p.sums), p.width(), kFloor);
    expect_near_as_naive("y", s.y.view(), y, rounded(y), kBFloat16Output);
    const std::vector<double> expected =
        oracle::weighted_average_gradient(values(p.sums), p.width(), kFloor, values(p.dy));
    expect_near_as_naive("dsums", s.dsums.view(), expected, rounded(expected), kBFloat16Gradient);
  }
}

TEST(WeightedAverageTest, FloorStandsForSmallWeights) {
  constexpr std::array kWeights = {0.0F, 0.2F, -0.2F, 0.25F, -0.25F, 2.0F, -2.0F};
  constexpr std::array kDivisors = {0.25, 0.25, -0.25, 0.25, -0.25, 2.0, -2.0};
  Problem p(kWeights.size(), 1, DType::kFloat32);
  for (size_t row = 0; row < kWeights.size(); ++row) {
    p.sums.as<float>()[2 * row] = 3.0F;
    p.sums.as<float>()[2 * row + 1] = kWeights[row];
    p.dy.as<float>()[row] = 1.0F;
  }
  const Solution s = solve(p);
  const std::vector<double> y = values(s.y), dsums = values(s.dsums);
  for (size_t row = 0; row < kWeights.size(); ++row) {
    EXPECT_EQ(y[row], 3.0 / kDivisors[row]) << row;
    EXPECT_EQ(dsums[2 * row], 1.0 / kDivisors[row]) << row;
    EXPECT_EQ(dsums[2 * row + 1], row < 3 ? 0.0 : -3.0 / (kDivisors[row] * kDivisors[row])) << row;
  }
}

// Within a row: a value, a weight, and a gradient whose result is representable though products and inverses are not.
TEST(WeightedAverageTest, SumsOfAllSizes) {
  struct Row {
    float sum, weights, dy;
  };
  for (const Row& row : {Row{1e-30F, 1e-30F, 1.0F}, Row{1e30F, 1e30F, 1.0F}, Row{1e-30F, 1e-30F, 1e-12F},
                         Row{3e-38F, 3e-38F, 1e-3F}, Row{1e38F, 3e38F, 1.0F}, Row{1e38F, 1e20F, 1e25F},
                         Row{1e-5F, 1e15F, 1e-2F}, Row{1e30F, 1e-5F, 1e-30F}, Row{1e38F, 1e30F, 1e-16F}}) {
    SCOPED_TRACE(fmt::format("{} / {}, gradient {}", row.sum, row.weights, row.dy));
    Problem p(1, 2, DType::kFloat32);
    for (int64_t h = 0; h < 2; ++h) {
      p.sums.as<float>()[h] = row.sum;
      p.dy.as<float>()[h] = row.dy;
    }
    p.sums.as<float>()[2] = row.weights;
    const Solution s = solve(p, 1, kSmallest);
    const double d = static_cast<double>(row.weights);
    const std::vector<double> y = values(s.y), dsums = values(s.dsums);
    const auto expect_near = [](double found, double expected) {
      EXPECT_NEAR(found, expected, kElementwise.relative * std::abs(expected) + static_cast<double>(kSmallest));
    };
    for (size_t h = 0; h < 2; ++h) {
      expect_near(y[h], static_cast<double>(row.sum) / d);
      expect_near(dsums[h], static_cast<double>(row.dy) / d);
    }
    expect_near(dsums[2], -2.0 * static_cast<double>(row.sum) * static_cast<double>(row.dy) / d / d);
  }
}

TEST(WeightedAverageTest, NaNStaysInItsRow) {
  for (const int64_t column : {2, 5}) {  // of a value, of the weights
    Problem p(3, 5, DType::kFloat32);
    p.sums.as<float>()[6 + column] = NAN;
    const Solution s = solve(p);
    const std::vector<double> y = values(s.y), dsums = values(s.dsums);
    for (int64_t e = 0; e < 15; ++e) EXPECT_EQ(std::isnan(y[e]), e / 5 == 1 && (column == 5 || e % 5 == column)) << e;
    for (int64_t e = 0; e < 18; ++e) EXPECT_EQ(std::isnan(dsums[e]), e / 6 == 1 && (column == 5 || e % 6 == 5)) << e;
  }
}

TEST(WeightedAverageTest, ThreadsDoNotChangeABit) {
  const Problem p(1001, 48, DType::kFloat32);
  const Solution once = solve(p, 1);
  for (const int threads : {2, 3}) {
    const Solution s = solve(p, threads);
    expect_identical("y", s.y.view(), once.y.view());
    expect_identical("dsums", s.dsums.view(), once.dsums.view());
  }
}

TEST(WeightedAverageTest, OraclesGradientIsTheComplexStep) {
  for (const bool below_floor : {false, true}) {
    const Problem p(20, 3, DType::kFloat32, below_floor);
    const std::vector<double> sums = values(p.sums), dy = values(p.dy);
    const auto loss = [&](const ComplexVector& at) {
      return weighted_sum(oracle::weighted_average(at, 3, kFloor), dy);
    };
    expect_close("dsums", oracle::weighted_average_gradient(sums, 3, kFloor, dy), complex_step_gradient(sums, loss),
                 kComplexStep);
  }
}

TEST(WeightedAverageTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor sums(DType::kFloat32, {2, 4}), y(DType::kFloat32, {2, 3}), dsums(DType::kFloat32, {2, 4});
  const TestTensor narrow(DType::kFloat32, {2, 1});
  const auto expect_refused = [&](const WeightedAverageForward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { weighted_average_forward(queue, args); }, words);
  };
  expect_refused({sums.view(), 0.0F, y.view()}, {"floor", "above 0"});
  expect_refused({sums.view(), NAN, y.view()}, {"floor", "normal number above 0"});
  expect_refused({sums.view(), INFINITY, y.view()}, {"floor", "normal"});
  expect_refused({narrow.view(), 1.0F, y.view()}, {"H+1", "at least 2"});
  expect_refused({sums.view(), 1.0F, dsums.view()}, {"y", "[2, 3]"});
  const auto expect_backward_refused = [&](const WeightedAverageBackward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { weighted_average_backward(queue, args); }, words);
  };
  expect_backward_refused({sums.view(), 1.0F, y.view(), sums.view()}, {"dsums", "sums", "overlap"});
  expect_backward_refused({sums.view(), 1.0F, dsums.view(), dsums.view()}, {"dy", "[2, 3]"});
  expect_backward_refused({sums.view(), -1.0F, y.view(), dsums.view()}, {"floor", "above 0"});
}

}  // namespace

}  // namespace segue::kernels

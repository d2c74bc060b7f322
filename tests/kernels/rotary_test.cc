// Turns of rows against the oracle, and what makes them positions: products that know distances alone.
#include "kernels/rotary.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/rotary.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t streams, rows, vectors, head;
  int64_t heads, width;
  int64_t first_position;
  double scaling = 1.0;
};

class RotaryTest : public testing::TestWithParam<Case> {
 protected:
  Case case_ = GetParam();
  Shape shape_{case_.streams, case_.rows, case_.vectors, case_.head};
  RotaryTurn turn_{case_.first_position, case_.heads, case_.width, 1000.0, case_.scaling};
  TestTensor x_ = random_tensor(shape_, 1);
  Queue queue_{test_device(), 2};

  std::vector<double> expected(int direction) const {
    std::vector<double> all;
    const std::vector<double> x = oracle_values(x_.view());
    const auto stream = static_cast<int64_t>(x.size()) / case_.streams;
    for (int64_t b = 0; b < case_.streams; ++b) {
      const std::vector<double> turned = oracle::rotary<double>({x.begin() + b * stream, x.begin() + (b + 1) * stream},
                                                                {.vectors = case_.vectors,
                                                                 .head = case_.head,
                                                                 .heads = case_.heads,
                                                                 .width = case_.width,
                                                                 .base = turn_.base,
                                                                 .first_position = case_.first_position,
                                                                 .scaling = case_.scaling},
                                                                direction);
      all.insert(all.end(), turned.begin(), turned.end());
    }
    return all;
  }
};

TEST_P(RotaryTest, EqualsTheOracle) {
  TestTensor y = unset_tensor(shape_), dx = unset_tensor(shape_);
  rotary_forward(queue_, {.x = x_.view(), .turn = turn_, .y = y.view()});
  expect_close("y", y.view(), expected(1), kElementwise);
  rotary_backward(queue_, {.dy = x_.view(), .turn = turn_, .dx = dx.view()});
  expect_close("dx", dx.view(), expected(-1), kElementwise);
}

TEST_P(RotaryTest, InPlaceIsTheSame) {
  TestTensor y = unset_tensor(shape_), dx = unset_tensor(shape_);
  TestTensor y_in_place = copy_of(x_.view()), dx_in_place = copy_of(x_.view());
  rotary_forward(queue_, {.x = x_.view(), .turn = turn_, .y = y.view()});
  rotary_forward(queue_, {.x = y_in_place.view(), .turn = turn_, .y = y_in_place.view()});
  expect_identical("y", y_in_place.view(), y.view());
  rotary_backward(queue_, {.dy = x_.view(), .turn = turn_, .dx = dx.view()});
  rotary_backward(queue_, {.dy = dx_in_place.view(), .turn = turn_, .dx = dx_in_place.view()});
  expect_identical("dx", dx_in_place.view(), dx.view());
}

TEST_P(RotaryTest, TheTurnBackLeavesWhatWas) {
  TestTensor y = unset_tensor(shape_);
  rotary_forward(queue_, {.x = x_.view(), .turn = turn_, .y = y.view()});
  rotary_backward(queue_, {.dy = y.view(), .turn = turn_, .dx = y.view()});
  expect_close("x", y.view(), oracle_values(x_.view()), kElementwise);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RotaryTest,
                         testing::Values(Case{1, 1, 1, 1, 1, 0, 5},           // no pair
                                         Case{1, 1, 1, 2, 1, 2, 1},           // one
                                         Case{2, 3, 3, 5, 2, 4, -3},          // the odd column stays
                                         Case{3, 31, 6, 8, 4, 8, 0},          // queries and keys of a segment
                                         Case{2, 32, 4, 16, 2, 16, -32},      // keys of a memory
                                         Case{2, 33, 6, 12, 4, 6, 1000},      // a share that ends within 16 bytes
                                         Case{1, 7, 11, 13, 7, 10, 997},      // rows begin anywhere
                                         Case{1, 2, 2, 256, 2, 256, 50000},   // the widest
                                         Case{2, 5, 3, 8, 0, 8, 9},           // no vector
                                         Case{2, 17, 4, 16, 3, 14, -5, 3.7},  // nearer than they stand
                                         Case{4, 64, 24, 64, 16, 64, 128}));

TEST(Rotary, PositionZeroChangesNothing) {
  Queue queue(test_device(), 1);
  const TestTensor x = random_tensor({3, 1, 4, 64}, 1);
  TestTensor y = unset_tensor(x.shape());
  rotary_forward(queue, {.x = x.view(), .turn = {.heads = 4, .width = 64}, .y = y.view()});
  EXPECT_EQ(oracle_values(y.view()), oracle_values(x.view()));
}

// However far from the start, also between positions that float32 does not tell apart.
TEST(Rotary, ProductsOfTurnedVectorsKnowTheirDistanceAlone) {
  Queue queue(test_device(), 1);
  constexpr int64_t kHead = 64;
  const std::vector<double> q = oracle_values(random_tensor({kHead}, 1).view());
  const std::vector<double> k = oracle_values(random_tensor({kHead}, 2).view());
  const auto products_from = [&](int64_t first_position) {
    TestTensor rows(DType::kFloat32, {1, 9, 2, kHead});  // q and k at nine positions
    for (int64_t i = 0; i < 9 * 2 * kHead; ++i)
      rows.as<float>()[i] = static_cast<float>((i / kHead % 2 == 0 ? q : k)[static_cast<size_t>(i % kHead)]);
    rotary_forward(
        queue,
        {.x = rows.view(), .turn = {.first_position = first_position, .heads = 2, .width = kHead}, .y = rows.view()});
    const std::vector<double> turned = oracle_values(rows.view());
    std::vector<double> products;
    for (int64_t distance = 0; distance < 9; ++distance) {
      double product = 0.0;
      for (int64_t h = 0; h < kHead; ++h)
        product += turned[static_cast<size_t>(8 * 2 * kHead + h)] *
                   turned[static_cast<size_t>(((8 - distance) * 2 + 1) * kHead + h)];
      products.push_back(product);
    }
    return products;
  };
  const std::vector<double> near = products_from(0);
  EXPECT_NEAR(near[0], weighted_sum(q, k), 1e-5);  // at distance 0 as if nothing had been turned
  EXPECT_GT(std::abs(near[1] - near[0]), 0.1);
  for (const int64_t first_position : {int64_t{-8}, int64_t{1000}, int64_t{1} << 30, int64_t{1} << 40})
    expect_close("products", products_from(first_position), near, kReduction);
}

// Scaled by s, a row at s times a position is turned as that position's, and so products know s times the distance as
// that distance.
TEST(Rotary, ScaledPositionsTurnLikeNearerOnes) {
  Queue queue(test_device(), 1);
  const TestTensor x = random_tensor({1, 1, 2, 64}, 1);
  const auto turned = [&](int64_t position, double scaling) {
    TestTensor y = unset_tensor(x.shape());
    const RotaryTurn turn{.first_position = position, .heads = 2, .width = 64, .scaling = scaling};
    rotary_forward(queue, {.x = x.view(), .turn = turn, .y = y.view()});
    return y;
  };
  for (const int64_t position : {-1000, -1, 1, 7, 4096}) {
    const TestTensor expected = turned(position, 1.0);
    expect_identical("y", turned(8 * position, 8.0).view(), expected.view());  // halves lose nothing
    expect_close("y", turned(3 * position, 3.0).view(), oracle_values(expected.view()), kElementwise);
  }
}

TEST(Rotary, AnglesAreExactFarFromTheStart) {
  Queue queue(test_device(), 1);
  for (const int64_t first_position : {(int64_t{1} << 30) - 3, -(int64_t{1} << 30), (int64_t{1} << 32) + 1}) {
    const TestTensor x = random_tensor({1, 5, 2, 64}, 1);
    TestTensor y = unset_tensor(x.shape());
    const RotaryTurn turn{.first_position = first_position, .heads = 2, .width = 64};
    rotary_forward(queue, {.x = x.view(), .turn = turn, .y = y.view()});
    const std::vector<double> expected = oracle::rotary(
        oracle_values(x.view()),
        {.vectors = 2, .head = 64, .heads = 2, .width = 64, .base = turn.base, .first_position = first_position});
    expect_close("y", y.view(), expected, kReduction);
  }
}

TEST(Rotary, TheOraclesGradientIsThatOfItsFormula) {
  const oracle::RotaryRows rows{.vectors = 3, .head = 7, .heads = 2, .width = 6, .base = 100.0, .first_position = -2};
  const std::vector<double> x = oracle_values(random_tensor({5, 3, 7}, 1).view());
  const std::vector<double> dy = oracle_values(random_tensor({5, 3, 7}, 2).view());
  const auto loss = [&](const ComplexVector& at) { return weighted_sum(oracle::rotary(at, rows), dy); };
  expect_close("dx", oracle::rotary(dy, rows, -1), complex_step_gradient(x, loss), kComplexStep);
}

TEST(Rotary, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {2, 3, 4, 6}), shorter(DType::kFloat32, {2, 2, 4, 6});
  const auto refused = [&](const RotaryTurn& turn, const std::vector<std::string>& words) {
    expect_contract_error([&] { rotary_forward(queue, {.x = x.view(), .turn = turn, .y = x.view()}); }, words);
    expect_contract_error([&] { rotary_backward(queue, {.dy = x.view(), .turn = turn, .dx = x.view()}); }, words);
  };
  refused({.heads = 5, .width = 6}, {"heads", "[0, 4]", "5"});
  refused({.heads = 4, .width = 5}, {"width", "even", "[0, 6]", "5"});
  refused({.heads = 4, .width = 8}, {"width", "[0, 6]", "8"});
  refused({.heads = 4, .width = 6, .base = 0.5}, {"base", "at least 1", "0.5"});
  refused({.heads = 4, .width = 6, .scaling = 0.5}, {"scaling", "at least 1", "0.5"});
  refused({.first_position = kFarthestRotaryPosition + 1, .heads = 4, .width = 6}, {"first_position", "2^52"});
  expect_contract_error(
      [&] { rotary_forward(queue, {.x = x.view(), .turn = {.heads = 4, .width = 6}, .y = shorter.view()}); },
      {"y", "[2, 3, 4, 6]", "[2, 2, 4, 6]"});
  expect_contract_error(
      [&] { rotary_backward(queue, {.dy = x.view(), .turn = {.heads = 4, .width = 6}, .dx = shorter.view()}); },
      {"dx", "[2, 3, 4, 6]", "[2, 2, 4, 6]"});
}

}  // namespace

}  // namespace segue::kernels

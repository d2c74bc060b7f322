// Groups of rows pooled into one each, in both precisions.
#include "kernels/pool_rows.h"

#include <cmath>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/pool_rows.h"

namespace segue::kernels {

namespace {

class PoolRowsTest : public testing::TestWithParam<Pooling> {};
INSTANTIATE_TEST_SUITE_P(Formulas, PoolRowsTest, testing::Values(Pooling::kMean, Pooling::kMax));

TEST_P(PoolRowsTest, EqualsTheOracle) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{3, 2, 31}, Shape{5, 4, 32}, Shape{7, 3, 33}, Shape{11, 13, 17},
                             Shape{2, 8, 1030}, Shape{128, 4, 512}}) {
    for (const bool in_bfloat16 : {false, true}) {
      Queue queue(test_device(), 2);
      const TestTensor x = in_bfloat16 ? random_bfloat16(shape, 1) : random_tensor(shape, 1);
      const Shape pooled{shape[0], shape[2]};
      TestTensor y = in_bfloat16 ? unset_bfloat16(pooled) : unset_tensor(pooled);
      pool_rows(queue, {.pooling = GetParam(), .x = x.view(), .y = y.view()});
      const std::vector<double> expected = oracle::pooled_rows(GetParam(), values(x), shape[0], shape[1], shape[2]);
      if (GetParam() == Pooling::kMax) {
        EXPECT_EQ(values(y), expected) << shape.text();
      } else if (in_bfloat16) {
        expect_near_as_naive(shape.text(), y.view(), expected, rounded(expected), kBFloat16Output);
      } else {
        expect_close(shape.text(), y.view(), expected, kReduction);
      }
    }
  }
}

TEST_P(PoolRowsTest, OfOneRowIsTheRow) {
  Queue queue(test_device(), 1);
  const TestTensor x = random_tensor({9, 1, 37}, 1);
  TestTensor y = unset_tensor({9, 37});
  pool_rows(queue, {.pooling = GetParam(), .x = x.view(), .y = y.view()});
  expect_identical("y", y.view(), x.view().reshaped({9, 37}));
}

TEST_P(PoolRowsTest, ThreadsDoNotChangeABit) {
  const TestTensor x = random_tensor({64, 5, 257}, 1);
  TestTensor once = unset_tensor({64, 257});
  Queue one(test_device(), 1);
  pool_rows(one, {.pooling = GetParam(), .x = x.view(), .y = once.view()});
  for (const int threads : {2, 3}) {
    Queue queue(test_device(), threads);
    TestTensor y = unset_tensor({64, 257});
    pool_rows(queue, {.pooling = GetParam(), .x = x.view(), .y = y.view()});
    expect_identical("y", y.view(), once.view());
  }
}

// Wherever it stands in its group.
TEST_P(PoolRowsTest, NaNIsNotLost) {
  for (int64_t at = 0; at < 3; ++at) {
    Queue queue(test_device(), 1);
    TestTensor x = random_tensor({2, 3, 4}, 1), y = unset_tensor({2, 4});
    x.as<float>()[at * 4 + 1] = NAN;
    pool_rows(queue, {.pooling = GetParam(), .x = x.view(), .y = y.view()});
    for (int64_t e = 0; e < 8; ++e) EXPECT_EQ(std::isnan(y.as<float>()[e]), e == 1) << at << ", " << e;
  }
}

TEST(PoolRows, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {2, 3, 4}), y(DType::kFloat32, {2, 4}), none(DType::kFloat32, {2, 0, 4});
  const auto refused = [&](const PoolRows& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { pool_rows(queue, args); }, words);
  };
  refused({.x = x.view(), .y = x.view().reshaped({6, 4}).rows(0, 2)}, {"y", "x"});
  refused({.x = x.view(), .y = y.view().rows(0, 1)}, {"y", "[2, 4]"});
  refused({.x = none.view(), .y = y.view()}, {"rows of a group", "at least 1"});
}

}  // namespace

}  // namespace segue::kernels

// Biases by buckets of distances against the oracle.
#include "kernels/bucket_bias.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/bucket_bias.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t distances, rows, heads;
};

// Some rows have many distances, some none.
std::vector<int32_t> random_buckets(int64_t distances, int64_t rows) {
  std::vector<int32_t> buckets;
  for (int64_t e = 0; e < distances; ++e) {
    const double u = random_uniform({1, 2, 3}, static_cast<uint64_t>(e));
    buckets.push_back(static_cast<int32_t>(u * u * static_cast<double>(rows)));
  }
  return buckets;
}

class BucketBiasTest : public testing::TestWithParam<Case> {
 protected:
  Case size_ = GetParam();
  std::vector<int32_t> buckets_ = random_buckets(size_.distances, size_.rows);
  TestTensor indices_ = index_tensor(buckets_);
  TestTensor table_ = random_tensor({size_.rows, size_.heads}, 1);
  TestTensor dbias_ = random_tensor({size_.heads, size_.distances}, 2);

  TestTensor table_gradient(int threads) {
    Queue queue(test_device(), threads);
    TestTensor dtable = random_tensor(table_.shape(), 3);
    bucket_bias_backward(queue, {.buckets = indices_.view(), .dbias = dbias_.view(), .dtable = dtable.view()});
    return dtable;
  }
};

TEST_P(BucketBiasTest, ForwardEqualsTheOracle) {
  Queue queue(test_device(), 2);
  TestTensor bias = unset_tensor(dbias_.shape());
  bucket_bias_forward(queue, {.buckets = indices_.view(), .table = table_.view(), .bias = bias.view()});
  const auto heads = static_cast<size_t>(size_.heads);
  expect_close("bias", bias.view(), oracle::bucket_bias(buckets_, oracle_values(table_.view()), heads), Tolerance{0.0});
}

TEST_P(BucketBiasTest, BackwardEqualsTheOracleOnAnyNumberOfThreads) {
  const TestTensor dtable = table_gradient(1);
  std::vector<double> expected = oracle_values(random_tensor(dtable.shape(), 3).view());
  const std::vector<double> added = oracle::bucket_bias_gradient(
      buckets_, oracle_values(dbias_.view()), static_cast<size_t>(size_.rows), static_cast<size_t>(size_.heads));
  for (size_t e = 0; e < expected.size(); ++e) expected[e] += added[e];
  expect_close("dtable", dtable.view(), expected, kReduction);
  for (const int threads : {2, 3}) expect_identical("dtable", table_gradient(threads).view(), dtable.view());
}

INSTANTIATE_TEST_SUITE_P(Sizes, BucketBiasTest,
                         testing::Values(Case{1, 1, 1}, Case{31, 7, 3}, Case{32, 32, 4}, Case{33, 2, 31},
                                         Case{131, 97, 5}, Case{1024, 32, 8}, Case{0, 4, 2}));

TEST(BucketBiasOracle, GradientByComplexStep) {
  const std::vector<int32_t> buckets{0, 1, 3, 3, 1};
  const std::vector<double> dbias = oracle_values(random_tensor({2, 5}, 1).view());
  const auto loss = [&](const ComplexVector& table) {
    return weighted_sum(oracle::bucket_bias(buckets, table, 2), dbias);
  };
  expect_close("dtable", oracle::bucket_bias_gradient(buckets, dbias, 4, 2),
               complex_step_gradient(oracle_values(random_tensor({4, 2}, 2).view()), loss), kComplexStep);
}

TEST(BucketBias, NamesWhatBreaksTheContract) {
  Queue queue(test_device(), 1);
  TestTensor table(DType::kFloat32, {4, 3}), bias(DType::kFloat32, {3, 2}), turned(DType::kFloat32, {2, 3});
  const TestTensor inside = index_tensor({0, 3}), outside = index_tensor({0, 4});
  const auto forward = [&](const TestTensor& buckets, TensorView to) {
    bucket_bias_forward(queue, {.buckets = buckets.view(), .table = table.view(), .bias = to});
  };
  const auto backward = [&](const TestTensor& buckets, ConstTensorView from) {
    bucket_bias_backward(queue, {.buckets = buckets.view(), .dbias = from, .dtable = table.view()});
  };
  if (!test_device().is_cuda()) {  // indices on a GPU are not looked at
    expect_contract_error([&] { forward(outside, bias.view()); }, {"buckets[1]", "[0, 4)", "4"});
    expect_contract_error([&] { backward(outside, bias.view()); }, {"buckets[1]", "[0, 4)", "4"});
  }
  expect_contract_error([&] { forward(inside, turned.view()); }, {"bias", "[3, 2]", "[2, 3]"});
  expect_contract_error([&] { backward(inside, turned.view()); }, {"dbias", "[3, 2]", "[2, 3]"});
  expect_contract_error([&] { forward(inside, view_of(table.view().as<float>(), {3, 2})); }, {"bias", "table"});
}

}  // namespace

}  // namespace segue::kernels

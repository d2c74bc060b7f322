// Token clusters against the oracle: no cutoffs, one, many, clusters without a token.
#include "kernels/token_clusters.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/token_clusters.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t targets, vocabulary;
  std::vector<int64_t> cutoffs;
  int64_t used = vocabulary;  // targets are below
  double scored = 1.0;        // the share of targets that are not -1
};

TestTensor unset_indices(const Shape& shape) {
  TestTensor tensor(DType::kInt32, shape);
  std::fill_n(tensor.as<int32_t>(), shape.elements(), -99);
  return tensor;
}

std::vector<int32_t> values_of(const TestTensor& tensor, int64_t first, int64_t count) {
  return {tensor.as<int32_t>() + first, tensor.as<int32_t>() + first + count};
}

class TokenClustersTest : public testing::TestWithParam<std::tuple<Case, GateOrder>> {
 protected:
  Case size_ = std::get<0>(GetParam());
  GateOrder gates_ = std::get<1>(GetParam());
  int64_t clusters_ = static_cast<int64_t>(size_.cutoffs.size()) + 1;
  std::vector<int32_t> targets_;

  void SetUp() override {
    for (int64_t i = 0; i < size_.targets; ++i) {
      const double u = random_uniform({1, 2, 3}, static_cast<uint64_t>(i));
      const bool scored = random_uniform({1, 2, 4}, static_cast<uint64_t>(i)) < size_.scored;
      targets_.push_back(scored ? static_cast<int32_t>(u * static_cast<double>(size_.used)) : -1);
    }
  }
};

TEST_P(TokenClustersTest, EqualsTheOracle) {
  Queue queue(test_device(), 2);
  const TestTensor targets = index_tensor(targets_);
  TestTensor columns = unset_indices({clusters_, size_.targets}), rows = unset_indices({clusters_, size_.targets});
  TestTensor counts = unset_indices({clusters_});
  token_clusters(queue,
                 {targets.view(), size_.cutoffs, size_.vocabulary, gates_, columns.view(), rows.view(), counts.view()});
  const auto expected =
      oracle::token_clusters(targets_, size_.cutoffs, size_.vocabulary, gates_ == GateOrder::kReversed);
  for (int64_t i = 0; i < clusters_; ++i) {
    const oracle::TokenCluster& cluster = expected[static_cast<size_t>(i)];
    const auto count = static_cast<int64_t>(cluster.rows.size());
    EXPECT_EQ(values_of(columns, i * size_.targets, size_.targets), cluster.columns) << "cluster " << i;
    EXPECT_EQ(counts.as<int32_t>()[i], count) << "cluster " << i;
    EXPECT_EQ(values_of(rows, i * size_.targets, count), cluster.rows) << "cluster " << i;
  }
}

std::vector<int64_t> cutoffs_one_by_one() {
  std::vector<int64_t> cutoffs(kMaxCutoffs);
  for (size_t i = 0; i < cutoffs.size(); ++i) cutoffs[i] = static_cast<int64_t>(i) + 1;
  return cutoffs;
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, TokenClustersTest,
    testing::Combine(testing::Values(Case{1, 1, {}}, Case{1, 2, {1}}, Case{33, 7, {}}, Case{31, 97, {13, 14, 60}},
                                     Case{32, 97, {13, 14, 60}}, Case{1031, 97, {13, 14, 60}},
                                     Case{256, 50, {10, 20}, 15}, Case{0, 9, {3}}, Case{300, 70, cutoffs_one_by_one()},
                                     Case{600, 2, {1}}, Case{97, 7, {}, 7, 0.5}, Case{600, 97, {13, 14, 60}, 97, 0.4},
                                     Case{33, 9, {3}, 9, 0.0}),
                     testing::Values(GateOrder::kAscending, GateOrder::kReversed)));

TEST(TokenClusters, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  const TestTensor above = index_tensor({0, 8, 3}), below = index_tensor({0, -1, -2});
  TestTensor columns = unset_indices({2, 3}), rows = unset_indices({2, 3}), counts = unset_indices({2});
  const auto run = [&](const std::vector<int64_t>& cutoffs, int64_t vocabulary, const TestTensor& of) {
    token_clusters(queue,
                   {of.view(), cutoffs, vocabulary, GateOrder::kAscending, columns.view(), rows.view(), counts.view()});
  };
  if (!test_device().is_cuda()) {  // indices on a GPU are not looked at
    expect_contract_error([&] { run({4}, 8, above); }, {"targets[1]", "[-1, 8)", "found 8"});
    expect_contract_error([&] { run({4}, 8, below); }, {"targets[2]", "[-1, 8)", "found -2"});
  }
  const TestTensor inside = index_tensor({0, 7, 3});
  expect_contract_error([&] { run({4, 4}, 8, inside); }, {"number 1", "more than 4", "found 4"});
  expect_contract_error([&] { run({8}, 8, inside); }, {"number 0", "vocabulary of 8", "found 8"});
  expect_contract_error([&] { run({0}, 8, inside); }, {"number 0", "more than 0"});
  expect_contract_error([&] { run({2, 4}, 8, inside); }, {"columns", "[3, 3]", "[2, 3]"});
  expect_contract_error([&] { run(std::vector<int64_t>(65, 1), 8, inside); }, {"cutoffs", "at most 64", "65"});
}

}  // namespace

}  // namespace segue::kernels

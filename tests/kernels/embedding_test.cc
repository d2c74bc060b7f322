// Embedding against the oracle, and against its own parts unfused.
#include "kernels/embedding.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/dropout.h"
#include "tests/oracle/embedding.h"

namespace segue::kernels {

namespace {

constexpr float kScale = 5.5F;

// Repeats the first tokens often, as text does.
std::vector<int32_t> random_tokens(int64_t rows, int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < rows; ++i) {
    const double u = random_uniform({1, 2, 3}, static_cast<uint64_t>(i));
    tokens.push_back(static_cast<int32_t>(u * u * static_cast<double>(vocabulary)));
  }
  return tokens;
}

struct Case {
  int64_t rows, vocabulary, columns;
  float p;
  int64_t first = 0, held = vocabulary;  // tokens that the table has
};

class EmbeddingTest : public testing::TestWithParam<Case> {
 protected:
  Case size_ = GetParam();
  Dropout dropout_{size_.p, {5, 6, 7}, 999};
  Queue queue_{test_device(), 2};
  std::vector<int32_t> tokens_ = random_tokens(size_.rows, size_.vocabulary);
  TestTensor indices_ = index_tensor(tokens_);
  TestTensor table_ = random_tensor({size_.held, size_.columns}, 1);
  TestTensor dy_ = random_tensor({size_.rows, size_.columns}, 2);
  std::vector<double> mask_ = oracle::dropout_mask(dropout_, size_.rows* size_.columns);

  void look_up(const Dropout& dropout, TensorView y) {
    embedding_forward(queue_, {indices_.view(), table_.view(), kScale, dropout, y, size_.first, size_.vocabulary});
  }
  void add_gradient(Queue& queue, ConstTensorView dy, const Dropout& dropout, TensorView dtable) {
    embedding_backward(queue, {indices_.view(), dy, kScale, dropout, dtable, size_.first, size_.vocabulary});
  }
  TestTensor table_gradient(int threads) {
    Queue queue(test_device(), threads);
    TestTensor dtable = random_tensor(table_.shape(), 3);
    add_gradient(queue, dy_.view(), dropout_, dtable.view());
    return dtable;
  }
};

TEST_P(EmbeddingTest, ForwardEqualsTheOracle) {
  TestTensor y = unset_tensor(dy_.shape());
  look_up(dropout_, y.view());
  const double scale = static_cast<double>(kScale);
  expect_close("y", y.view(),
               oracle::embedding(tokens_, oracle_values(table_.view()), size_.columns, scale, mask_, size_.first),
               kElementwise);
}

TEST_P(EmbeddingTest, BackwardEqualsTheOracleOnAnyNumberOfThreads) {
  const TestTensor dtable = table_gradient(1);
  std::vector<double> expected = oracle_values(random_tensor(dtable.shape(), 3).view());
  const std::vector<double> added = oracle::embedding_gradient(
      tokens_, oracle_values(dy_.view()), size_.columns, size_.held, static_cast<double>(kScale), mask_, size_.first);
  for (size_t e = 0; e < expected.size(); ++e) expected[e] += added[e];
  expect_close("dtable", dtable.view(), expected, kReduction);
  expect_identical("2 threads", table_gradient(2).view(), dtable.view());
  expect_identical("3 threads", table_gradient(3).view(), dtable.view());
}

TEST_P(EmbeddingTest, EqualsGatherThenDropout) {
  TestTensor fused = unset_tensor(dy_.shape()), gathered = unset_tensor(dy_.shape());
  look_up(dropout_, fused.view());
  look_up({}, gathered.view());
  dropout_forward(queue_, {.x = gathered.view(), .dropout = dropout_, .y = gathered.view()});
  expect_close("y", fused.view(), oracle_values(gathered.view()), kElementwise);
  TestTensor masked = unset_tensor(dy_.shape()), unfused = random_tensor(table_.shape(), 3);
  dropout_backward(queue_, {.dy = dy_.view(), .dropout = dropout_, .dx = masked.view()});
  add_gradient(queue_, masked.view(), {}, unfused.view());
  expect_close("dtable", table_gradient(2).view(), oracle_values(unfused.view()), kReduction);
}

INSTANTIATE_TEST_SUITE_P(Sizes, EmbeddingTest,
                         testing::Values(Case{1, 1, 1, 0.0F}, Case{31, 7, 33, 0.1F}, Case{33, 97, 31, 1.0F},
                                         Case{0, 5, 32, 0.1F}, Case{1024, 256, 256, 0.1F}, Case{300, 50, 131, 0.0F},
                                         Case{300, 2, 40, 0.1F}, Case{1, 5, 3, 0.1F, 2, 1},
                                         Case{131, 31, 17, 0.1F, 7, 11}, Case{300, 50, 40, 0.0F, 0, 3},
                                         Case{300, 50, 40, 0.1F, 3, 47}));

TEST(EmbeddingOracle, GradientByComplexStep) {
  const std::vector<int32_t> tokens{1, 0, 1, 2, 1};
  const std::vector<double> mask = oracle::dropout_mask({0.3F, {1, 2, 3}, 0}, 15);
  const std::vector<double> dy = oracle_values(random_tensor({5, 3}, 1).view());
  for (const int64_t first : {0, 1}) {
    const auto loss = [&](const ComplexVector& table) {
      return weighted_sum(oracle::embedding(tokens, table, 3, 1.7, mask, first), dy);
    };
    const Shape held{3 - first, 3};
    expect_close("dtable", oracle::embedding_gradient(tokens, dy, 3, 3 - first, 1.7, mask, first),
                 complex_step_gradient(oracle_values(random_tensor(held, 2).view()), loss), kComplexStep);
  }
}

TEST(Embedding, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor table(DType::kFloat32, {4, 3}), y(DType::kFloat32, {2, 3});
  const TestTensor outside = index_tensor({0, 4}), inside = index_tensor({0, 3});
  if (!test_device().is_cuda()) {  // indices on a GPU are not looked at
    expect_contract_error(
        [&] { embedding_forward(queue, {.tokens = outside.view(), .table = table.view(), .y = y.view()}); },
        {"tokens[1]", "[0, 4)", "4"});
    expect_contract_error(
        [&] {
          embedding_forward(queue, {.tokens = outside.view(), .table = table.view(), .y = y.view(), .vocabulary = 4});
        },
        {"tokens[1]", "[0, 4)", "4"});
  }
  expect_contract_error(
      [&] { embedding_backward(queue, {.tokens = inside.view(), .dy = table.view(), .dtable = table.view()}); },
      {"dy", "[2, 3]", "[4, 3]"});
  expect_contract_error(
      [&] {
        embedding_forward(
            queue, {.tokens = inside.view(), .table = table.view(), .y = y.view(), .first_token = 3, .vocabulary = 6});
      },
      {"vocabulary", "7", "6"});
  expect_contract_error(
      [&] {
        embedding_forward(queue, {.tokens = inside.view(), .table = table.view(), .y = y.view(), .first_token = -1});
      },
      {"first_token", "-1"});
}

}  // namespace

}  // namespace segue::kernels

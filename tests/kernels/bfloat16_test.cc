// The families with activations in bfloat16, against the oracle on the same inputs.
#include "tests/kernels/bfloat16.h"

#include "kernels/cross_entropy.h"
#include "kernels/embedding.h"
#include "kernels/lamb.h"
#include "kernels/layer_norm.h"
#include "kernels/optimizer_step.h"
#include "kernels/rotary.h"
#include "kernels/segment_memory.h"
#include "tests/oracle/cross_entropy.h"
#include "tests/oracle/dropout.h"
#include "tests/oracle/embedding.h"
#include "tests/oracle/layer_norm.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/rotary.h"
#include "tests/oracle/segment_memory.h"

namespace segue::kernels {

namespace {

constexpr Dropout kDropout{.p = 0.1F, .random = {5, 6, 7}, .first_element = 77};

// Dropout, forward and backward, overwriting and accumulating.
TEST(BFloat16, Dropout) {
  Queue queue(test_device());
  for (const Shape& shape : {Shape{1}, Shape{31}, Shape{32}, Shape{7, 11, 13}, Shape{64, 257}}) {
    const TestTensor x = random_bfloat16(shape, 1), before = random_bfloat16(shape, 2);
    const std::vector<double> product = oracle::multiply(values(x), oracle::dropout_mask(kDropout, shape.elements()));
    TestTensor y = unset_bfloat16(shape), dx = copy_of(before.view());
    dropout_forward(queue, {.x = x.view(), .dropout = kDropout, .y = y.view()});
    expect_near_as_naive("y", y.view(), product, rounded(product), kBFloat16Output);
    dropout_backward(queue, {.dy = x.view(), .dropout = kDropout, .dx = dx.view(), .accumulate = true});
    const std::vector<double> sum = oracle::sum_of(values(before), product);
    expect_near_as_naive("dx", dx.view(), sum, rounded(sum), kBFloat16Gradient);
  }
}

TEST(BFloat16, Embedding) {
  Queue queue(test_device());
  for (const auto [rows, vocabulary, columns] :
       {std::array<int64_t, 3>{1, 1, 1}, {33, 7, 31}, {300, 3, 40}, {200, 97, 264}}) {
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < rows; ++i) tokens.push_back(static_cast<int32_t>(i * i % vocabulary));
    const TestTensor indices = index_tensor(tokens);
    const TestTensor table = random_bfloat16({vocabulary, columns}, 1), dy = random_bfloat16({rows, columns}, 2);
    const std::vector<double> mask = oracle::dropout_mask(kDropout, rows * columns);
    TestTensor y = unset_bfloat16({rows, columns}), dtable = random_tensor({vocabulary, columns}, 3);
    const std::vector<double> before = values(dtable);
    embedding_forward(queue, {indices.view(), table.view(), 5.5F, kDropout, y.view()});
    embedding_backward(queue, {indices.view(), dy.view(), 5.5F, kDropout, dtable.view()});
    const std::vector<double> expected = oracle::embedding(tokens, values(table), columns, 5.5, mask);
    expect_near_as_naive("y", y.view(), expected, rounded(expected), kBFloat16Output);
    const std::vector<double> gradient = oracle::embedding_gradient(tokens, values(dy), columns, vocabulary, 5.5, mask);
    expect_close("dtable", dtable.view(), oracle::sum_of(before, gradient), kReduction);
  }
}

class BFloat16LayerNorm : public testing::TestWithParam<std::array<int64_t, 2>> {
 protected:
  static constexpr double kEpsilon = 1e-5;
  Shape shape_{GetParam()[0], GetParam()[1]}, features_{GetParam()[1]}, rows_{GetParam()[0]};
  TestTensor x_ = random_bfloat16(shape_, 1), branch_ = random_bfloat16(shape_, 2), dy_ = random_bfloat16(shape_, 5);
  TestTensor gain_ = random_tensor(features_, 3), bias_ = random_tensor(features_, 4);
  TestTensor sum_ = unset_bfloat16(shape_), y_ = unset_bfloat16(shape_);
  TestTensor mean_ = unset_tensor(rows_), rstd_ = unset_tensor(rows_);
  std::vector<double> mask_ = oracle::dropout_mask(kDropout, shape_.elements());
  Queue queue_{test_device()};

  oracle::LayerNorm<double> normalised(const std::vector<double>& sum) const {
    return oracle::layer_norm(sum, values(gain_), values(bias_), kEpsilon);
  }
  void forward() {
    layer_norm_forward(queue_, {x_.view(), branch_.view(), kDropout, gain_.view(), bias_.view(),
                                static_cast<float>(kEpsilon), sum_.view(), y_.view(), mean_.view(), rstd_.view()});
  }
};

TEST_P(BFloat16LayerNorm, Forward) {
  forward();
  const std::vector<double> dropped = oracle::multiply(values(branch_), mask_);
  const std::vector<double> sum = oracle::sum_of(values(x_), dropped);
  const std::vector<double> naive_sum = rounded(oracle::sum_of(values(x_), rounded(dropped)));
  const auto expected = normalised(sum), naive = normalised(naive_sum);
  expect_near_as_naive("sum", sum_.view(), sum, naive_sum, kBFloat16Output);
  expect_near_as_naive("y", y_.view(), expected.y, rounded(naive.y), kBFloat16Output);
  expect_close("mean", mean_.view(), normalised(values(sum_)).mean, kReduction);
  expect_close("rstd", rstd_.view(), normalised(values(sum_)).rstd, kReduction);
}

TEST_P(BFloat16LayerNorm, BackwardOfTheSavedSum) {
  forward();
  const TestTensor other = random_bfloat16(shape_, 6);
  TestTensor dx = unset_bfloat16(shape_), dbranch = unset_bfloat16(shape_);
  TestTensor dgain = random_tensor(features_, 7), dbias = random_tensor(features_, 8);
  const std::vector<double> dgain_before = values(dgain), dbias_before = values(dbias);
  layer_norm_backward(queue_, {.dy = dy_.view(),
                               .ds_other = other.view(),
                               .sum = sum_.view(),
                               .mean = mean_.view(),
                               .rstd = rstd_.view(),
                               .gain = gain_.view(),
                               .dropout = kDropout,
                               .dx = dx.view(),
                               .dbranch = dbranch.view(),
                               .dgain = dgain.view(),
                               .dbias = dbias.view()});
  const auto expected = oracle::layer_norm_gradients(normalised(values(sum_)), values(gain_), values(dy_));
  const std::vector<double> ds = oracle::sum_of(expected.ds, values(other));
  expect_near_as_naive("dx", dx.view(), ds, rounded(ds), kBFloat16Gradient);
  expect_near_as_naive("dbranch", dbranch.view(), oracle::multiply(ds, mask_),
                       rounded(oracle::multiply(rounded(ds), mask_)), kBFloat16Gradient);
  expect_close("dgain", dgain.view(), oracle::sum_of(expected.dgain, dgain_before), kGradient);
  expect_close("dbias", dbias.view(), oracle::sum_of(expected.dbias, dbias_before), kGradient);
}

// Rows of warps and of blocks, whole vectors and single elements.
INSTANTIATE_TEST_SUITE_P(Sizes, BFloat16LayerNorm,
                         testing::Values(std::array<int64_t, 2>{3, 2}, std::array<int64_t, 2>{31, 33},
                                         std::array<int64_t, 2>{33, 64}, std::array<int64_t, 2>{65, 512},
                                         std::array<int64_t, 2>{7, 1031}, std::array<int64_t, 2>{5, 1024}));

TEST(BFloat16, CrossEntropy) {
  Queue queue(test_device());
  for (const auto [rows, classes] : {std::array<int64_t, 2>{1, 2}, {33, 31}, {70, 256}, {3, 1031}, {3, 4104}}) {
    std::vector<int32_t> targets;
    for (int64_t i = 0; i < rows; ++i) targets.push_back(i % 5 == 2 ? -1 : static_cast<int32_t>(i * 7 % classes));
    const TestTensor indices = index_tensor(targets), bias = random_tensor({classes}, 2);
    TestTensor logits = random_bfloat16({rows, classes}, 1, 3.0);
    TestTensor nll = unset_tensor({rows}), lse = unset_tensor({rows}), margin = unset_tensor({rows});
    TestTensor dbias = random_tensor({classes}, 3);
    const std::vector<double> of_classes = values(bias);
    std::vector<double> z = values(logits);
    for (size_t e = 0; e < z.size(); ++e) z[e] += of_classes[e % of_classes.size()];
    const auto expected = oracle::cross_entropy(z, targets);
    const std::vector<double> gradient = oracle::cross_entropy_gradient(z, targets, 0.25);
    const std::vector<double> dbias_expected = oracle::sum_of(values(dbias), oracle::column_sums(gradient, classes));
    cross_entropy_forward(queue, {logits.view(), bias.view(), indices.view(), nll.view(), lse.view(), margin.view()});
    cross_entropy_backward(queue, {logits.view(), bias.view(), indices.view(), lse.view(), 0.25F, dbias.view()});
    expect_close("nll", nll.view(), expected.nll, kReduction);
    expect_close("lse", lse.view(), expected.lse, kReduction);
    expect_close("margin", margin.view(), oracle::margins(z, targets), kElementwise, largest(expected.lse));
    expect_near_as_naive("dlogits", logits.view(), gradient, rounded(gradient), kBFloat16Gradient);
    expect_close("dbias", dbias.view(), dbias_expected, kGradient);
  }
}

TEST(BFloat16, OptimizersLeaveARoundedCopy) {
  Queue queue(test_device());
  for (const int64_t count : {1, 31, 1024}) {
    TestTensor p = random_tensor({count}, 1), m = filled_tensor({count}, 0.0F), v = filled_tensor({count}, 0.0F);
    const TestTensor gradients = random_tensor({count}, 2);
    TestTensor copy = unset_bfloat16({count});
    const ParameterUpdate update{
        .parameters = p.view(), .gradients = gradients.view(), .compute_copy = copy.view(), .learning_rate = 0.25};
    const auto expect_rounded = [&] {
      expect_identical("copy", copy.view(), cast(copy_of(p.view()), DType::kBFloat16).view());
    };
    adam_step(queue, {update, m.view(), v.view()});
    expect_rounded();
    sgd_step(queue, {update});
    expect_rounded();
    TestTensor chunk(DType::kInt64, {1, kLambChunkFields}), squares(DType::kFloat64, {1, 2});
    chunk.as<int64_t>()[3] = count;
    lamb_step(queue, {.parameters = p.view(),
                      .first_moment = m.view(),
                      .second_moment = v.view(),
                      .chunks = chunk.view(),
                      .squares = squares.view(),
                      .compute_copy = copy.view(),
                      .learning_rate = 0.25});
    expect_rounded();
  }
}

TEST(BFloat16, Rotary) {
  Queue queue(test_device());
  for (const int64_t head : {5, 16, 20}) {
    const oracle::RotaryRows rows{
        .vectors = 3, .head = head, .heads = 2, .width = head / 2 * 2, .base = 100.0, .first_position = -3};
    const RotaryTurn turn{.first_position = -3, .heads = 2, .width = rows.width, .base = rows.base};
    const TestTensor x = random_bfloat16({1, 33, 3, head}, 1);
    TestTensor y = unset_bfloat16(x.shape()), dx = copy_of(x.view());
    rotary_forward(queue, {.x = x.view(), .turn = turn, .y = y.view()});
    const std::vector<double> expected = oracle::rotary(values(x), rows);
    expect_near_as_naive("y", y.view(), expected, rounded(expected), kBFloat16Output);
    rotary_backward(queue, {.dy = dx.view(), .turn = turn, .dx = dx.view()});
    const std::vector<double> gradient = oracle::rotary(values(x), rows, -1);
    expect_near_as_naive("dx", dx.view(), gradient, rounded(gradient), kBFloat16Gradient);
  }
}

TEST(BFloat16, SegmentMemoryInPlace) {
  Queue queue(test_device());
  for (const int64_t features : {5, 16}) {
    TestTensor memory = random_bfloat16({3, 32, features}, 1);
    const TestTensor hidden = random_bfloat16({3, 5, features}, 2);
    const std::vector<double> expected = oracle::updated_memory(values(memory), values(hidden), 3, 32 * features);
    segment_memory_update(queue, {std::as_const(memory).view(), hidden.view(), memory.view()});
    EXPECT_EQ(values(memory), expected);
  }
}

}  // namespace

}  // namespace segue::kernels

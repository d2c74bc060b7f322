// The families with activations in bfloat16, which only a GPU computes with, against the oracle on the same inputs.
#include "tests/kernels/bfloat16.h"

#include "kernels/cross_entropy.h"
#include "kernels/embedding.h"
#include "kernels/feed_forward.h"
#include "kernels/lamb.h"
#include "kernels/layer_norm.h"
#include "kernels/matmul.h"
#include "kernels/optimizer_step.h"
#include "kernels/segment_memory.h"
#include "tests/kernels/linear_cross_entropy_problem.h"
#include "tests/oracle/cross_entropy.h"
#include "tests/oracle/embedding.h"
#include "tests/oracle/feed_forward.h"
#include "tests/oracle/layer_norm.h"
#include "tests/oracle/segment_memory.h"

namespace segue::kernels {

namespace {

constexpr Dropout kDropout{.p = 0.1F, .random = {5, 6, 7}, .first_element = 77};

OwnedTensor unset_bfloat16(const Shape& shape) { return cast(unset_tensor(shape), DType::kBFloat16); }

std::vector<double> values(const OwnedTensor& tensor) { return oracle_values(tensor.view()); }

// Dropout, forward and backward, overwriting and accumulating.
TEST(BFloat16, Dropout) {
  Stream stream(test_device());
  for (const Shape& shape : {Shape{1}, Shape{31}, Shape{32}, Shape{7, 11, 13}, Shape{64, 257}}) {
    const OwnedTensor x = random_bfloat16(shape, 1), before = random_bfloat16(shape, 2);
    const std::vector<double> product = oracle::multiply(values(x), oracle::dropout_mask(kDropout, shape.elements()));
    OwnedTensor y = unset_bfloat16(shape), dx = copy_of(before.view());
    dropout_forward(stream, {.x = x.view(), .dropout = kDropout, .y = y.view()});
    expect_near_as_naive("y", y.view(), product, rounded(product), kBFloat16Output);
    dropout_backward(stream, {.dy = x.view(), .dropout = kDropout, .dx = dx.view(), .accumulate = true});
    const std::vector<double> sum = oracle::sum_of(values(before), product);
    expect_near_as_naive("dx", dx.view(), sum, rounded(sum), kBFloat16Gradient);
  }
}

TEST(BFloat16, Embedding) {
  Stream stream(test_device());
  for (const auto [rows, vocabulary, columns] :
       {std::array<int64_t, 3>{1, 1, 1}, {33, 7, 31}, {300, 3, 40}, {200, 97, 264}}) {
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < rows; ++i) tokens.push_back(static_cast<int32_t>(i * i % vocabulary));
    const OwnedTensor indices = index_tensor(tokens);
    const OwnedTensor table = random_bfloat16({vocabulary, columns}, 1), dy = random_bfloat16({rows, columns}, 2);
    const std::vector<double> mask = oracle::dropout_mask(kDropout, rows * columns);
    OwnedTensor y = unset_bfloat16({rows, columns}), dtable = random_tensor({vocabulary, columns}, 3);
    const std::vector<double> before = values(dtable);
    embedding_forward(stream, {indices.view(), table.view(), 5.5F, kDropout, y.view()});
    embedding_backward(stream, {indices.view(), dy.view(), 5.5F, kDropout, dtable.view()});
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
  OwnedTensor x_ = random_bfloat16(shape_, 1), branch_ = random_bfloat16(shape_, 2), dy_ = random_bfloat16(shape_, 5);
  OwnedTensor gain_ = random_tensor(features_, 3), bias_ = random_tensor(features_, 4);
  OwnedTensor sum_ = unset_bfloat16(shape_), y_ = unset_bfloat16(shape_);
  OwnedTensor mean_ = unset_tensor(rows_), rstd_ = unset_tensor(rows_);
  std::vector<double> mask_ = oracle::dropout_mask(kDropout, shape_.elements());
  Stream stream_{test_device()};

  oracle::LayerNorm<double> normalised(const std::vector<double>& sum) const {
    return oracle::layer_norm(sum, values(gain_), values(bias_), kEpsilon);
  }
  void forward() {
    layer_norm_forward(stream_, {x_.view(), branch_.view(), kDropout, gain_.view(), bias_.view(),
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
  const OwnedTensor other = random_bfloat16(shape_, 6);
  OwnedTensor dx = unset_bfloat16(shape_), dbranch = unset_bfloat16(shape_);
  OwnedTensor dgain = random_tensor(features_, 7), dbias = random_tensor(features_, 8);
  const std::vector<double> dgain_before = values(dgain), dbias_before = values(dbias);
  layer_norm_backward(stream_, {.dy = dy_.view(),
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
  Stream stream(test_device());
  for (const auto [rows, classes] : {std::array<int64_t, 2>{1, 2}, {33, 31}, {70, 256}, {3, 1031}, {3, 4104}}) {
    std::vector<int32_t> targets;
    for (int64_t i = 0; i < rows; ++i) targets.push_back(static_cast<int32_t>(i * 7 % classes));
    const OwnedTensor indices = index_tensor(targets), bias = random_tensor({classes}, 2);
    OwnedTensor logits = random_bfloat16({rows, classes}, 1, 3.0);
    OwnedTensor nll = unset_tensor({rows}), lse = unset_tensor({rows}), dbias = random_tensor({classes}, 3);
    std::vector<double> z = values(logits);
    for (size_t e = 0; e < z.size(); ++e) z[e] += values(bias)[e % static_cast<size_t>(classes)];
    const auto expected = oracle::cross_entropy(z, targets);
    const std::vector<double> gradient = oracle::cross_entropy_gradient(z, targets, 0.25);
    const std::vector<double> dbias_expected = oracle::sum_of(values(dbias), oracle::column_sums(gradient, classes));
    cross_entropy_forward(stream, {logits.view(), bias.view(), indices.view(), nll.view(), lse.view()});
    cross_entropy_backward(stream, {logits.view(), bias.view(), indices.view(), lse.view(), 0.25F, dbias.view()});
    expect_close("nll", nll.view(), expected.nll, kReduction);
    expect_close("lse", lse.view(), expected.lse, kReduction);
    expect_near_as_naive("dlogits", logits.view(), gradient, rounded(gradient), kBFloat16Gradient);
    expect_close("dbias", dbias.view(), dbias_expected, kGradient);
  }
}

class BFloat16LinearCrossEntropy : public testing::TestWithParam<LayerSize> {};

TEST_P(BFloat16LinearCrossEntropy, EqualsTheOracle) {
  const LayerProblem problem(GetParam(), DType::kBFloat16);
  const auto scale = static_cast<double>(problem.scale);
  const oracle::LinearLayer<double> layer = problem.oracle_layer();
  const LayerResults found = problem.run(2, true), before(problem, true);
  const auto nll = oracle::linear_cross_entropy(layer, problem.columns, problem.rows);
  const auto gradient = oracle::linear_cross_entropy_gradient(layer, problem.columns, problem.rows, scale);
  const NaiveLayer naive(layer, problem.columns, problem.rows, scale);
  expect_near_as_naive("nll", found.nll.view(), problem.expected_nll(before, nll),
                       problem.expected_nll(before, naive.nll), kBFloat16Output);
  expect_near_as_naive("dx", found.dx.view(), problem.expected_dx(before, gradient.x),
                       rounded(problem.expected_dx(before, naive.gradient.x)), kBFloat16Gradient);
  const auto sum_of = [](const std::vector<double>& a, const std::vector<double>& b) { return oracle::sum_of(a, b); };
  expect_near_as_naive("dw", LayerProblem::joined(found.dtable, found.dgates).view(), sum_of(before.dw(), gradient.w),
                       sum_of(before.dw(), naive.gradient.w), kBFloat16Gradient);
  expect_near_as_naive("db", LayerProblem::joined(found.dbias, found.dgate_bias).view(),
                       sum_of(before.db(), gradient.b), sum_of(before.db(), naive.gradient.b), kBFloat16Gradient);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, BFloat16LinearCrossEntropy,
    testing::Values(LayerSize{31, 33, 97, 3, Listed::kAll}, LayerSize{131, 64, 257, 2, Listed::kSome},
                    LayerSize{67, 16, 131, 0, Listed::kSome}, LayerSize{40, 264, 67, 0, Listed::kSome},
                    LayerSize{66, 31, 65, 0, Listed::kEvery}, LayerSize{7, 16, 31, 0, Listed::kNone}));

struct FeedForwardCase {
  int64_t rows, d, f;
  Activation activation;
  float p;
};

class BFloat16FeedForward : public testing::TestWithParam<FeedForwardCase> {
 protected:
  FeedForwardCase size_ = GetParam();
  bool gelu_ = size_.activation == Activation::kGelu;
  Dropout dropout_{size_.p, {5, 6, 7}, 1234567};
  Shape outer_{size_.rows, size_.d}, inner_{size_.rows, size_.f};
  OwnedTensor x_ = random_bfloat16(outer_, 1), dy_ = random_bfloat16(outer_, 2);
  OwnedTensor w1_ = random_bfloat16({size_.f, size_.d}, 3, 1.0 / std::sqrt(static_cast<double>(size_.d)));
  OwnedTensor w2_ = random_bfloat16({size_.d, size_.f}, 4, 1.0 / std::sqrt(static_cast<double>(size_.f)));
  OwnedTensor b1_ = random_tensor({size_.f}, 5), b2_ = random_tensor({size_.d}, 6);
  OwnedTensor pre_ = unset_bfloat16(inner_), hidden_ = unset_bfloat16(inner_), y_ = unset_bfloat16(outer_);
  std::vector<double> mask_ = oracle::dropout_mask(dropout_, inner_.elements());
  Stream stream_{test_device()};

  oracle::FeedForward<double> inputs() const {
    return {values(x_), values(w1_), values(b1_), values(w2_), values(b2_)};
  }
  static std::vector<double> biased(std::vector<double> matrix, const OwnedTensor& bias) {
    const std::vector<double> b = values(bias);
    for (size_t e = 0; e < matrix.size(); ++e) matrix[e] += b[e % b.size()];
    return rounded(matrix);
  }
  // Rounded after every operation.
  oracle::FeedForwardOutput<double> naive() const {
    oracle::FeedForwardOutput<double> out;
    out.pre =
        biased(rounded(oracle::matmul({size_.rows, size_.f, size_.d}, values(x_), false, values(w1_), true)), b1_);
    for (const double pre : out.pre) out.hidden.push_back(oracle::activate(size_.activation, pre));
    out.hidden = rounded(oracle::multiply(rounded(out.hidden), mask_));
    out.y = biased(rounded(oracle::matmul({size_.rows, size_.d, size_.f}, out.hidden, false, values(w2_), true)), b2_);
    return out;
  }
  void forward() {
    feed_forward_forward(stream_, {x_.view(), w1_.view(), b1_.view(), w2_.view(), b2_.view(), size_.activation,
                                   dropout_, gelu_ ? pre_.view() : TensorView{}, hidden_.view(), y_.view()});
  }
};

TEST_P(BFloat16FeedForward, Forward) {
  forward();
  const auto expected = oracle::feed_forward(inputs(), size_.activation, mask_);
  if (gelu_) expect_near_as_naive("pre", pre_.view(), expected.pre, naive().pre, kBFloat16Output);
  expect_near_as_naive("hidden", hidden_.view(), expected.hidden, naive().hidden, kBFloat16Output);
  expect_near_as_naive("y", y_.view(), expected.y, naive().y, kBFloat16Output);
}

// Each gradient by its own formula from what the forward saved: a unit whose pre-activation rounds to the other side of
// ReLU's corner has another gradient, in which no rounding is at fault.
TEST_P(BFloat16FeedForward, BackwardOfWhatWasSaved) {
  forward();
  oracle::FeedForwardOutput<double> saved{gelu_ ? values(pre_) : values(hidden_), values(hidden_), {}};
  OwnedTensor workspace = unset_bfloat16(inner_), dx = random_bfloat16(outer_, 7);
  OwnedTensor dw1 = filled_tensor(w1_.shape(), 0.0F), db1 = filled_tensor({size_.f}, 0.0F);
  OwnedTensor dw2 = filled_tensor(w2_.shape(), 0.0F), db2 = filled_tensor({size_.d}, 0.0F);
  const std::vector<double> dx_before = values(dx);
  feed_forward_backward(
      stream_, {dy_.view(), x_.view(), w1_.view(), w2_.view(), gelu_ ? std::as_const(pre_).view() : ConstTensorView{},
                hidden_.view(), size_.activation, dropout_, workspace.view(), dx.view(), true, dw1.view(), db1.view(),
                dw2.view(), db2.view()});
  const auto expected = oracle::feed_forward_gradients(inputs(), saved, size_.activation, mask_, values(dy_));
  std::vector<double> dpre =
      rounded(oracle::matmul({size_.rows, size_.f, size_.d}, values(dy_), false, values(w2_), false));
  for (size_t e = 0; e < dpre.size(); ++e)
    dpre[e] *= mask_[e] * oracle::activation_gradient(size_.activation, saved.pre[e]);
  dpre = rounded(dpre);
  const auto naive_dx = oracle::matmul({size_.rows, size_.d, size_.f}, dpre, false, values(w1_), false);
  expect_near_as_naive("dx", dx.view(), oracle::sum_of(expected.x, dx_before),
                       rounded(oracle::sum_of(rounded(naive_dx), dx_before)), kBFloat16Gradient);
  expect_near_as_naive("dw1", dw1.view(), expected.w1,
                       oracle::matmul({size_.f, size_.d, size_.rows}, dpre, true, values(x_), false),
                       kBFloat16Gradient);
  expect_near_as_naive("db1", db1.view(), expected.b1, oracle::column_sums(dpre, size_.f), kBFloat16Gradient);
  expect_close("dw2", dw2.view(), expected.w2, kGradient);
  expect_close("db2", db2.view(), expected.b2, kGradient);
}

INSTANTIATE_TEST_SUITE_P(Sizes, BFloat16FeedForward,
                         testing::Values(FeedForwardCase{2, 2, 3, Activation::kRelu, 0.0F},
                                         FeedForwardCase{33, 31, 65, Activation::kRelu, 0.1F},
                                         FeedForwardCase{31, 33, 64, Activation::kGelu, 0.1F},
                                         FeedForwardCase{40, 64, 128, Activation::kRelu, 0.0F},
                                         FeedForwardCase{40, 64, 264, Activation::kGelu, 0.0F}));

TEST(BFloat16, MatmulIntoEitherDtype) {
  Stream stream(test_device());
  const OwnedTensor a = random_bfloat16({33, 40}, 1), b = random_bfloat16({40, 31}, 2);
  const std::vector<double> expected = oracle::matmul({33, 31, 40}, values(a), false, values(b), false);
  OwnedTensor narrow = unset_bfloat16({33, 31}), wide = unset_tensor({33, 31});
  matmul(stream, {.a = a.view(), .b = b.view(), .c = narrow.view()});
  matmul(stream, {.a = a.view(), .b = b.view(), .c = wide.view()});
  expect_near_as_naive("bfloat16", narrow.view(), expected, rounded(expected), kBFloat16Output);
  expect_close("float32", wide.view(), expected, kReduction);
}

TEST(BFloat16, OptimizersLeaveARoundedCopy) {
  Stream stream(test_device());
  for (const int64_t count : {1, 31, 1024}) {
    OwnedTensor p = random_tensor({count}, 1), m = filled_tensor({count}, 0.0F), v = filled_tensor({count}, 0.0F);
    const OwnedTensor gradients = random_tensor({count}, 2);
    OwnedTensor copy = unset_bfloat16({count});
    const ParameterUpdate update{
        .parameters = p.view(), .gradients = gradients.view(), .compute_copy = copy.view(), .learning_rate = 0.25};
    const auto expect_rounded = [&] {
      expect_identical("copy", copy.view(), cast(copy_of(p.view()), DType::kBFloat16).view());
    };
    adam_step(stream, {update, m.view(), v.view()});
    expect_rounded();
    sgd_step(stream, {update});
    expect_rounded();
    OwnedTensor chunk = test_tensor(DType::kInt64, {1, kLambChunkFields}),
                squares = test_tensor(DType::kFloat64, {1, 2});
    chunk.as<int64_t>()[3] = count;
    lamb_step(stream, {.parameters = p.view(),
                       .first_moment = m.view(),
                       .second_moment = v.view(),
                       .chunks = chunk.view(),
                       .squares = squares.view(),
                       .compute_copy = copy.view(),
                       .learning_rate = 0.25});
    expect_rounded();
  }
}

TEST(BFloat16, SegmentMemoryInPlace) {
  Stream stream(test_device());
  for (const int64_t features : {5, 16}) {
    OwnedTensor memory = random_bfloat16({3, 32, features}, 1);
    const OwnedTensor hidden = random_bfloat16({3, 5, features}, 2);
    const std::vector<double> expected = oracle::updated_memory(values(memory), values(hidden), 3, 32 * features);
    segment_memory_update(stream, {std::as_const(memory).view(), hidden.view(), memory.view()});
    EXPECT_EQ(values(memory), expected);
  }
}

// A replayed operation draws new numbers because its step is counted in the GPU's memory.
TEST(Dropout, CountsStepsInTheDevicesMemory) {
  Stream stream(test_device());
  const OwnedTensor x = random_tensor({33, 31}, 1);
  OwnedTensor counter = test_tensor(DType::kInt64, {1}), counted = unset_tensor({33, 31}),
              fixed = unset_tensor({33, 31});
  counter.as<int64_t>()[0] = 2;
  Dropout dropout{0.3F, {.seed = 5, .step = 6, .site = 7}};
  dropout.step = reinterpret_cast<const uint64_t*>(counter.view().data);
  dropout_forward(stream, {.x = x.view(), .dropout = dropout, .y = counted.view()});
  dropout_forward(stream, {.x = x.view(), .dropout = {0.3F, {.seed = 5, .step = 8, .site = 7}}, .y = fixed.view()});
  expect_identical("y", counted.view(), fixed.view());
}

}  // namespace

}  // namespace segue::kernels

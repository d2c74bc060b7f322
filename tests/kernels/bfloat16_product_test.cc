// Matrix products and feed-forward with activations in bfloat16, against the oracle on the same inputs.
#include "kernels/feed_forward.h"
#include "kernels/matmul.h"
#include "tests/kernels/bfloat16.h"
#include "tests/oracle/feed_forward.h"

namespace segue::kernels {

namespace {

struct FeedForwardCase {
  int64_t rows, d, f;
  Activation activation;
  float p;
};

class BFloat16FeedForward : public WithBFloat16Products<testing::TestWithParam<FeedForwardCase>> {
 protected:
  FeedForwardCase size_ = GetParam();
  bool gelu_ = size_.activation == Activation::kGelu;
  Dropout dropout_{size_.p, {5, 6, 7}, 1234567};
  Shape outer_{size_.rows, size_.d}, inner_{size_.rows, size_.f};
  TestTensor x_ = random_bfloat16(outer_, 1), dy_ = random_bfloat16(outer_, 2);
  TestTensor w1_ = random_bfloat16({size_.f, size_.d}, 3, 1.0 / std::sqrt(static_cast<double>(size_.d)));
  TestTensor w2_ = random_bfloat16({size_.d, size_.f}, 4, 1.0 / std::sqrt(static_cast<double>(size_.f)));
  TestTensor b1_ = random_tensor({size_.f}, 5), b2_ = random_tensor({size_.d}, 6);
  TestTensor pre_ = unset_bfloat16(inner_), hidden_ = unset_bfloat16(inner_), y_ = unset_bfloat16(outer_);
  std::vector<double> mask_ = oracle::dropout_mask(dropout_, inner_.elements());
  Queue queue_{test_device()};

  oracle::FeedForward<double> inputs() const {
    return {values(x_), values(w1_), values(b1_), values(w2_), values(b2_)};
  }
  static std::vector<double> biased(std::vector<double> matrix, const TestTensor& bias) {
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
    feed_forward_forward(queue_, {x_.view(), w1_.view(), b1_.view(), w2_.view(), b2_.view(), size_.activation, dropout_,
                                  gelu_ ? pre_.view() : TensorView{}, hidden_.view(), y_.view()});
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
  TestTensor workspace = unset_bfloat16(inner_), dx = random_bfloat16(outer_, 7);
  TestTensor dw1 = filled_tensor(w1_.shape(), 0.0F), db1 = filled_tensor({size_.f}, 0.0F);
  TestTensor dw2 = filled_tensor(w2_.shape(), 0.0F), db2 = filled_tensor({size_.d}, 0.0F);
  const std::vector<double> dx_before = values(dx);
  feed_forward_backward(
      queue_, {dy_.view(), x_.view(), w1_.view(), w2_.view(), gelu_ ? std::as_const(pre_).view() : ConstTensorView{},
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

using BFloat16Matmul = WithBFloat16Products<testing::Test>;
TEST_F(BFloat16Matmul, IntoEitherDtype) {
  Queue queue(test_device());
  const TestTensor a = random_bfloat16({33, 40}, 1), b = random_bfloat16({40, 31}, 2);
  const std::vector<double> expected = oracle::matmul({33, 31, 40}, values(a), false, values(b), false);
  TestTensor narrow = unset_bfloat16({33, 31}), wide = unset_tensor({33, 31});
  matmul(queue, {.a = a.view(), .b = b.view(), .c = narrow.view()});
  matmul(queue, {.a = a.view(), .b = b.view(), .c = wide.view()});
  expect_near_as_naive("bfloat16", narrow.view(), expected, rounded(expected), kBFloat16Output);
  expect_close("float32", wide.view(), expected, kReduction);
}

}  // namespace

}  // namespace segue::kernels

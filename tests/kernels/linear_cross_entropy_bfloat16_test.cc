// Cross-entropy against a linear layer with activations in bfloat16, against the oracle on the same inputs.
#include "tests/kernels/bfloat16.h"
#include "tests/kernels/linear_cross_entropy_problem.h"

namespace segue::kernels {

namespace {

using BFloat16LinearCrossEntropy = WithBFloat16Products<testing::TestWithParam<LayerSize>>;

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
                    LayerSize{66, 31, 65, 0, Listed::kEvery}, LayerSize{7, 16, 31, 0, Listed::kNone},
                    LayerSize{67, 16, 131, 2, Listed::kScored}));

}  // namespace

}  // namespace segue::kernels

// Softmax cross-entropy against a linear layer: against the oracle, and against a product and a cross-entropy unfused.
#include "kernels/linear_cross_entropy.h"

#include "kernels/cross_entropy.h"
#include "kernels/matmul.h"
#include "tests/kernels/linear_cross_entropy_problem.h"

namespace segue::kernels {

namespace {

class LinearCrossEntropyTest : public testing::TestWithParam<LayerSize> {
 protected:
  LayerProblem problem_{GetParam()};
};

TEST_P(LinearCrossEntropyTest, EqualsTheOracle) {
  for (const bool accumulate : {false, true}) {
    LayerResults found = problem_.run(2, accumulate);
    const LayerResults before(problem_, accumulate);
    const oracle::LinearLayer<double> layer = problem_.oracle_layer();
    const auto gradient = oracle::linear_cross_entropy_gradient(layer, problem_.columns, problem_.rows,
                                                                static_cast<double>(problem_.scale));
    const auto nll = oracle::linear_cross_entropy(layer, problem_.columns, problem_.rows);
    expect_close("nll", found.nll.view(), problem_.expected_nll(before, nll), kReduction);
    expect_close("dx", found.dx.view(), problem_.expected_dx(before, gradient.x), kGradient, problem_.term_of_dx());
    expect_close("dw", found.dw(), oracle::sum_of(before.dw(), gradient.w), kGradient);
    expect_close("db", found.db(), oracle::sum_of(before.db(), gradient.b), kGradient);
  }
}

TEST_P(LinearCrossEntropyTest, SameBitsOnAnyNumberOfThreads) {
  const LayerResults one = problem_.run(1, true);
  for (const int threads : {2, 3}) {
    const LayerResults more = problem_.run(threads, true);
    expect_identical("nll", more.nll.view(), one.nll.view());
    expect_identical("dx", more.dx.view(), one.dx.view());
    expect_identical("dtable", more.dtable.view(), one.dtable.view());
    expect_identical("dbias", more.dbias.view(), one.dbias.view());
    expect_identical("dgates", more.dgates.view(), one.dgates.view());
    expect_identical("dgate_bias", more.dgate_bias.view(), one.dgate_bias.view());
  }
}

TEST_P(LinearCrossEntropyTest, WithoutAGradientTheLossIsTheSame) {
  const LayerResults with = problem_.run(2, true);
  LayerResults without(problem_, true);
  Queue queue(test_device(), 2);
  LinearCrossEntropy args = problem_.arguments(without, true);
  args.gradient = {};
  linear_cross_entropy(queue, args);
  expect_identical("nll", without.nll.view(), with.nll.view());
}

TEST_P(LinearCrossEntropyTest, EqualsAProductAndACrossEntropy) {
  if (problem_.has_list() && problem_.rows.size() != problem_.columns.size()) return;
  Queue queue(test_device(), 2);
  const LayerSize size = problem_.size;
  const LayerResults fused = problem_.run(2, false);
  const int64_t classes = size.table + size.gates;
  TestTensor w = problem_.joined(problem_.table, problem_.gates),
             b = problem_.joined(problem_.bias, problem_.gate_bias);
  TestTensor logits = unset_tensor({size.rows, classes}), nll = unset_tensor({size.rows});
  TestTensor lse = unset_tensor({size.rows}), dx = unset_tensor(problem_.x.shape());
  const LayerResults before(problem_, false);
  TestTensor dw = problem_.joined(before.dtable, before.dgates), db = problem_.joined(before.dbias, before.dgate_bias);
  matmul(queue, {.a = problem_.x.view(), .b = w.view(), .transpose_b = true, .c = logits.view()});
  cross_entropy_forward(queue, {logits.view(), b.view(), problem_.targets.view(), nll.view(), lse.view()});
  cross_entropy_backward(queue,
                         {logits.view(), b.view(), problem_.targets.view(), lse.view(), problem_.scale, db.view()});
  matmul(queue, {.a = logits.view(), .b = w.view(), .c = dx.view()});
  matmul(queue, {.a = logits.view(), .transpose_a = true, .b = problem_.x.view(), .c = dw.view(), .accumulate = true});
  expect_close("nll", fused.nll.view(), oracle_values(nll.view()), kReduction);
  expect_close("dx", fused.dx.view(), oracle_values(dx.view()), kGradient, problem_.term_of_dx());
  expect_close("dw", fused.dw(), oracle_values(dw.view()), kGradient);
  expect_close("db", fused.db(), oracle_values(db.view()), kGradient);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, LinearCrossEntropyTest,
    testing::Values(LayerSize{1, 1, 1, 0, Listed::kAll}, LayerSize{1, 5, 1, 1, Listed::kAll},
                    LayerSize{3, 8, 1, 0, Listed::kSome}, LayerSize{31, 33, 97, 3, Listed::kAll},
                    LayerSize{33, 31, 257, 0, Listed::kAll}, LayerSize{67, 16, 131, 0, Listed::kSome},
                    LayerSize{67, 33, 131, 0, Listed::kEvery}, LayerSize{131, 64, 32, 2, Listed::kSome},
                    LayerSize{64, 13, 1031, 0, Listed::kSome}, LayerSize{37, 16, 31, 0, Listed::kNone},
                    LayerSize{40, 128, 515, 3, Listed::kAll}, LayerSize{40, 256, 67, 0, Listed::kSome},
                    LayerSize{40, 260, 33, 0, Listed::kSome}, LayerSize{37, 5, 4099, 1, Listed::kSome},
                    LayerSize{67, 33, 131, 0, Listed::kScored}, LayerSize{31, 16, 97, 3, Listed::kScored},
                    LayerSize{1, 5, 3, 1, Listed::kScored}));

TEST(LinearCrossEntropy, ManyClassesInParts) {
  const LayerProblem problem({70, 3, 10007, 2, Listed::kAll});
  const auto layer = problem.oracle_layer();
  const LayerResults found = problem.run(2, false);
  const auto gradient =
      oracle::linear_cross_entropy_gradient(layer, problem.columns, problem.rows, static_cast<double>(problem.scale));
  expect_close("nll", found.nll.view(), oracle::linear_cross_entropy(layer, problem.columns, problem.rows), kReduction);
  expect_close("dx", found.dx.view(), gradient.x, kGradient, problem.term_of_dx());
  expect_close("dw", found.dw(), oracle::sum_of(LayerResults(problem, false).dw(), gradient.w), kGradient);
}

TEST(LinearCrossEntropy, RowsInChunks) {
  for (const Listed listed : {Listed::kAll, Listed::kScored, Listed::kSome}) {
    LayerProblem problem({131, 9, 67, 1, listed});
    problem.scratch_bytes = 1;
    const LayerResults before(problem, true), chunked = problem.run(2, true);
    problem.scratch_bytes = kScratchBytes;
    const LayerResults whole = problem.run(2, true);
    expect_close("nll", chunked.nll.view(), oracle_values(whole.nll.view()), kReduction);
    expect_close("dx", chunked.dx.view(), oracle_values(whole.dx.view()), kGradient);
    expect_close("dw", chunked.dw(), whole.dw(), kGradient);
    expect_close("db", chunked.db(), whole.db(), kGradient);
    EXPECT_LE(before.workspace.view().elements(), whole.workspace.view().elements());
  }
}

TEST(LinearCrossEntropy, TheWorkspaceIsSmallBesideAllLogits) {
  EXPECT_LT(linear_cross_entropy_workspace({.rows = 8192, .width = 64, .classes = 270001}, test_device().kind),
            int64_t{8192} * 270001 / 64);
}

TEST(LinearCrossEntropyOracle, GradientsByComplexStep) {
  const LayerProblem problem({4, 3, 4, 1, Listed::kSome});
  const auto layer = problem.oracle_layer();
  const auto gradient = oracle::linear_cross_entropy_gradient(layer, problem.columns, problem.rows, 0.7);
  const auto expect_gradient = [&](const char* what, std::vector<double> oracle::LinearLayer<double>::*member,
                                   ComplexVector oracle::LinearLayer<std::complex<double>>::*complex_member) {
    const auto loss = [&](const ComplexVector& at) {
      oracle::LinearLayer<std::complex<double>> moved{ComplexVector(layer.x.begin(), layer.x.end()),
                                                      ComplexVector(layer.w.begin(), layer.w.end()),
                                                      ComplexVector(layer.b.begin(), layer.b.end()), layer.width};
      moved.*complex_member = at;
      return weighted_sum(oracle::linear_cross_entropy(moved, problem.columns, problem.rows),
                          std::vector<double>(problem.columns.size(), 0.7));
    };
    expect_close(what, gradient.*member, complex_step_gradient(layer.*member, loss), kComplexStep);
  };
  using Complex = oracle::LinearLayer<std::complex<double>>;
  expect_gradient("dx", &oracle::LinearLayer<double>::x, &Complex::x);
  expect_gradient("dw", &oracle::LinearLayer<double>::w, &Complex::w);
  expect_gradient("db", &oracle::LinearLayer<double>::b, &Complex::b);
}

TEST(LinearCrossEntropy, LargeLogitsNeitherOverflowNorVanish) {
  for (const Listed listed : {Listed::kAll, Listed::kEvery}) {
    LayerProblem problem({3, 4, 70, 0, listed});
    std::fill_n(problem.bias.as<float>(), 70, -1e30F);
    problem.bias.as<float>()[problem.columns[0]] = 1e30F;
    const LayerResults found = problem.run(1, false);
    EXPECT_EQ(found.nll.as<float>()[0], 0.0F);
    problem.bias.as<float>()[problem.columns[0]] = -1e30F;
    EXPECT_FLOAT_EQ(problem.run(1, false).nll.as<float>()[0], std::log(70.0F));
  }
}

TEST(LinearCrossEntropy, NanReachesTheLoss) {
  for (const Listed listed : {Listed::kAll, Listed::kEvery}) {
    LayerProblem problem({3, 4, 70, 0, listed});
    problem.table.as<float>()[int64_t{57} * 4] = NAN;
    EXPECT_TRUE(std::isnan(problem.run(1, false).nll.as<float>()[1]));
  }
}

TEST(LinearCrossEntropy, NoRowIsScored) {
  LayerProblem problem({33, 16, 70, 2, Listed::kAll});
  std::fill_n(problem.targets.as<int32_t>(), 33, -1);
  for (const bool accumulate : {false, true}) {
    const LayerResults before(problem, accumulate), found = problem.run(2, accumulate);
    const TestTensor zeros = filled_tensor({33}, 0.0F), zero_rows = filled_tensor({33, 16}, 0.0F);
    expect_identical("nll", found.nll.view(), accumulate ? before.nll.view() : zeros.view());
    expect_identical("dx", found.dx.view(), accumulate ? before.dx.view() : zero_rows.view());
    expect_identical("dtable", found.dtable.view(), before.dtable.view());
    expect_identical("dbias", found.dbias.view(), before.dbias.view());
    expect_identical("dgates", found.dgates.view(), before.dgates.view());
  }
}

TEST(LinearCrossEntropy, RefusesWhatItsContractForbids) {
  LayerProblem problem({3, 4, 5, 2, Listed::kSome});
  LayerResults results(problem, true);
  Queue queue(test_device(), 1);
  const auto expect_refused = [&](const std::vector<std::string>& words, const auto& change) {
    LinearCrossEntropy args = problem.arguments(results, true);
    change(args);
    expect_contract_error([&] { linear_cross_entropy(queue, args); }, words);
  };
  const TestTensor outside = index_tensor({7, 7, 7}), falling = index_tensor({1, 0, 2}), three = index_tensor({3});
  const TestTensor ten = index_tensor({10}), within = index_tensor({0, 0, 0});
  if (!test_device().is_cuda()) {  // indices on a GPU are not looked at
    expect_refused({"columns[", "[0, 7)", "found 7"}, [&](auto& args) { args.columns = outside.view(); });
    expect_refused({"count", "0 to 3", "10"}, [&](auto& args) { args.count = ten.view(); });
    expect_refused({"rows[1]", "more than 1", "found 0"}, [&](auto& args) {
      args.rows = falling.view();
      args.count = three.view();
      args.columns = within.view();
    });
  }
  expect_refused({"count", "without rows"}, [](auto& args) { args.rows = {}; });
  const TestTensor below = index_tensor({0, -1, -2});
  if (!test_device().is_cuda()) {
    expect_refused({"columns[2]", "[-1, 7)", "found -2"}, [&](auto& args) {
      args.columns = below.view();
      args.rows = args.count = {};
    });
  }
  expect_refused({"gate_bias", "without gates"}, [](auto& args) { args.gates = {}; });
  expect_refused({"dtable", "without dx"}, [](auto& args) { args.gradient.dx = {}; });
  expect_refused({"workspace", "at least"}, [](auto& args) { args.workspace.shape = {1}; });
  expect_refused({"dx", "nll"}, [](auto& args) { args.nll = {args.gradient.dx.data, DType::kFloat32, {3}}; });
  expect_refused({"bias", "[5]", "[7]"}, [&](auto& args) { args.bias = view_of(results.nll.view().as<float>(), {7}); });
}

}  // namespace

}  // namespace segue::kernels

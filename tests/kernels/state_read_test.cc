// Reads of a state: against the oracle in both precisions, overwriting, accumulating, and where nothing wants the
// gradient of the state.
#include "kernels/state_read.h"

#include <fmt/format.h>

#include "kernels/state_scan.h"
#include "tests/kernels/bfloat16.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/state_read.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t b, t, n, k, v;

  std::string text() const { return fmt::format("B {} T {} N {} K {} V {}", b, t, n, k, v); }
  oracle::StateReadExtents extents() const {
    const auto extent = [](int64_t of) { return static_cast<size_t>(of); };
    return {extent(b), extent(t), extent(n), extent(k), extent(v)};
  }
};

std::vector<Case> cases() {
  std::vector<Case> all = {{1, 1, 1, 1, 1},    {2, 37, 3, 8, 16},   {1, 16, 2, 33, 17},  {2, 31, 1, 31, 32},
                           {1, 32, 2, 32, 33}, {3, 1, 2, 64, 64},   {1, 130, 2, 64, 65}, {2, 33, 1, 16, 97},
                           {1, 17, 1, 130, 8}, {1, 67, 1, 72, 136}, {1, 20, 1, 256, 40}};
  if (!test_device().is_cuda()) all.push_back({1, 50, 1, 250, 500});  // slow if emulated
  return all;
}

struct Problem {
  Case c;
  TestTensor q, state, doutput, before;

  explicit Problem(const Case& of, DType dtype = DType::kFloat32)
      : c(of),
        q(cast(random_tensor({c.b, c.t, c.n, c.k}, 1), dtype)),
        state(random_tensor({c.b, c.n, c.k, c.v}, 2)),
        doutput(cast(random_tensor({c.b, c.t, c.n, c.v}, 3), dtype)),
        before(random_tensor({c.b, c.n, c.k, c.v}, 4)) {}
};

enum class StateGradient : uint8_t { kOverwritten, kAccumulated, kNone };

struct Solution {
  TestTensor output, dq, dstate;
};

Solution solve(const Problem& p, StateGradient wanted = StateGradient::kOverwritten, int threads = 2,
               bool wants_dq = true) {
  Queue queue(test_device(), threads);
  Solution s{.output = cast(unset_tensor(p.doutput.shape()), p.q.view().dtype),
             .dq = cast(unset_tensor(p.q.shape()), p.q.view().dtype),
             .dstate = unset_tensor(p.state.shape())};
  if (wanted == StateGradient::kAccumulated) s.dstate = copy_of(p.before.view());
  state_read_forward(queue, {.q = p.q.view(), .state = p.state.view(), .output = s.output.view()});
  state_read_backward(queue, {.q = p.q.view(),
                              .state = p.state.view(),
                              .doutput = p.doutput.view(),
                              .dq = wants_dq ? s.dq.view() : TensorView{},
                              .dstate = wanted == StateGradient::kNone ? TensorView{} : s.dstate.view(),
                              .accumulate = wanted == StateGradient::kAccumulated});
  return s;
}

template <typename Scalar = double>
struct Expected {
  std::vector<Scalar> output;
  oracle::StateReadGradients<Scalar> gradients;

  explicit Expected(const Problem& p)
      : output(oracle::state_read(p.c.extents(), oracle_values<Scalar>(p.q.view()),
                                  oracle_values<Scalar>(p.state.view()))),
        gradients(oracle::state_read_gradients(p.c.extents(), oracle_values<Scalar>(p.q.view()),
                                               oracle_values<Scalar>(p.state.view()),
                                               oracle_values<Scalar>(p.doutput.view()))) {}
};

TEST(StateRead, EqualsTheOracle) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    const Problem p(c);
    const Expected<> expected(p);
    const Solution s = solve(p), added = solve(p, StateGradient::kAccumulated);
    expect_close("output", s.output.view(), expected.output, kReduction);
    expect_close("dq", s.dq.view(), expected.gradients.q, kReduction);
    expect_close("dstate", s.dstate.view(), expected.gradients.state, kReduction);
    expect_identical("dq", added.dq.view(), s.dq.view());
    expect_close("dstate, added", added.dstate.view(), oracle::sum_of(values(p.before), expected.gradients.state),
                 kReduction);
  }
}

TEST(StateRead, IsAsGoodAsNaiveBFloat16) {
  for (const Case& c : cases()) {
    if (c.t < 16) continue;  // too few sums for the naive way to be off
    SCOPED_TRACE(c.text());
    const Problem p(c, DType::kBFloat16);
    const Expected<> expected(p);
    const Expected<NaiveBFloat16> naive(p);
    const Solution s = solve(p);
    expect_near_as_naive("output", s.output.view(), expected.output, widened(naive.output), kBFloat16Output);
    expect_near_as_naive("dq", s.dq.view(), expected.gradients.q, widened(naive.gradients.q), kBFloat16Gradient);
    expect_near_as_naive("dstate", s.dstate.view(), expected.gradients.state, widened(naive.gradients.state),
                         kBFloat16Gradient);
  }
}

TEST(StateRead, WithoutAGradientOfTheStateQueriesReceiveTheSame) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const Problem p({2, 37, 2, 24, 40}, dtype);
    const Solution s = solve(p, StateGradient::kNone);
    expect_identical("dq", s.dq.view(), solve(p).dq.view());
    for (const double value : values(s.dstate)) ASSERT_TRUE(std::isnan(value));
  }
}

TEST(StateRead, WithoutAGradientOfQueriesTheStateReceivesTheSame) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const Problem p({2, 37, 2, 24, 40}, dtype);
    const Solution s = solve(p, StateGradient::kAccumulated, 2, false);
    expect_identical("dstate", s.dstate.view(), solve(p, StateGradient::kAccumulated).dstate.view());
    for (const double value : values(s.dq)) ASSERT_TRUE(std::isnan(value));
  }
}

// Steps that bfloat16 could not add to what is there.
TEST(StateRead, GradientsOfTheStateAddUpInFloat32) {
  Problem p({1, 64, 1, 8, 8}, DType::kBFloat16);
  std::fill_n(p.q.as<BFloat16>(), 64 * 8, BFloat16(1.0F));
  std::fill_n(p.doutput.as<BFloat16>(), 64 * 8, BFloat16(0.0625F));
  std::fill_n(p.before.as<float>(), 8 * 8, 256.0F);
  for (const double value : values(solve(p, StateGradient::kAccumulated).dstate)) EXPECT_EQ(value, 260.0);
}

TEST(StateRead, ReadsAsAScanThatWritesNothing) {
  Queue queue(test_device(), 2);
  const Problem p({2, 37, 2, 24, 40});
  const TestTensor nothing = filled_tensor(p.doutput.shape(), 0.0F);
  TestTensor output = unset_tensor(p.doutput.shape()), last = unset_tensor(p.state.shape());
  StateScanForward scan{};
  scan.inputs.q = scan.inputs.k = p.q.view();
  scan.inputs.v = nothing.view();
  scan.inputs.initial = p.state.view();
  scan.output = output.view();
  scan.final = last.view();
  state_scan_forward(queue, scan);
  expect_close("output", solve(p).output.view(), values(output), kReduction);
}

TEST(StateRead, NaNStaysWhereItIsRead) {
  constexpr int64_t kKeys = 5, kValues = 7, kTokens = 18;
  const auto token = [](size_t e, int64_t width) { return static_cast<int64_t>(e) / width; };
  Problem of_query({1, kTokens, 1, kKeys, kValues});
  of_query.q.as<float>()[17 * kKeys + 2] = NAN;  // token 17, key 2
  const Solution a = solve(of_query);
  const std::vector<double> output = values(a.output), dstate = values(a.dstate);
  for (size_t e = 0; e < output.size(); ++e) EXPECT_EQ(std::isnan(output[e]), token(e, kValues) == 17) << e;
  for (size_t e = 0; e < dstate.size(); ++e) EXPECT_EQ(std::isnan(dstate[e]), token(e, kValues) == 2) << e;
  for (const double value : values(a.dq)) EXPECT_FALSE(std::isnan(value));

  Problem of_state({1, kTokens, 1, kKeys, kValues});
  of_state.state.as<float>()[2 * kValues + 3] = NAN;  // key 2, value 3
  const Solution b = solve(of_state);
  const std::vector<double> read = values(b.output), dq = values(b.dq);
  for (size_t e = 0; e < read.size(); ++e) EXPECT_EQ(std::isnan(read[e]), e % kValues == 3) << e;
  for (size_t e = 0; e < dq.size(); ++e) EXPECT_EQ(std::isnan(dq[e]), e % kKeys == 2) << e;
  for (const double value : values(b.dstate)) EXPECT_FALSE(std::isnan(value));
}

TEST(StateRead, ThreadsDoNotChangeABit) {
  const Problem p({2, 150, 1, 32, 150});
  const Solution once = solve(p, StateGradient::kAccumulated, 1);
  for (const int threads : {2, 3, 7}) {
    const Solution s = solve(p, StateGradient::kAccumulated, threads);
    expect_identical("output", s.output.view(), once.output.view());
    expect_identical("dq", s.dq.view(), once.dq.view());
    expect_identical("dstate", s.dstate.view(), once.dstate.view());
  }
}

TEST(StateRead, OraclesGradientsAreTheComplexStep) {
  const Problem p({2, 5, 2, 3, 4});
  const std::vector<double> q = values(p.q), state = values(p.state), doutput = values(p.doutput);
  const auto complex = [](const std::vector<double>& real) { return ComplexVector(real.begin(), real.end()); };
  const auto found = oracle::state_read_gradients(p.c.extents(), q, state, doutput);
  const auto of_q = [&](const ComplexVector& at) {
    return weighted_sum(oracle::state_read(p.c.extents(), at, complex(state)), doutput);
  };
  const auto of_state = [&](const ComplexVector& at) {
    return weighted_sum(oracle::state_read(p.c.extents(), complex(q), at), doutput);
  };
  expect_close("dq", found.q, complex_step_gradient(q, of_q), kComplexStep);
  expect_close("dstate", found.state, complex_step_gradient(state, of_state), kComplexStep);
}

TEST(StateRead, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor q(DType::kFloat32, {1, 3, 2, 4}), state(DType::kFloat32, {1, 2, 4, 5}),
      output(DType::kFloat32, {1, 3, 2, 5});
  TestTensor dq(DType::kFloat32, {1, 3, 2, 4}), wide(DType::kFloat32, {1, 3, 2, kMaxStateKeys + 1});
  TestTensor wide_output(DType::kFloat32, {1, 3, 2, kMaxStateValues + 1}), bfloat16(DType::kBFloat16, {1, 3, 2, 5});
  const auto refused = [&](const StateReadForward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { state_read_forward(queue, args); }, words);
  };
  refused({q.view(), q.view(), output.view()}, {"state", "[1, 2, 4, 5]", "[1, 3, 2, 4]"});
  refused({q.view(), state.view(), state.view()}, {"output", "[1, 3, 2, 5]", "[1, 2, 4, 5]"});
  refused({q.view(), state.view(), bfloat16.view()}, {"output", "float32", "bfloat16"});
  refused({wide.view(), state.view(), output.view()}, {"K", "at most 256", "257"});
  refused({q.view(), state.view(), wide_output.view()}, {"V", "at most 512", "513"});
  refused({{output.view().data, DType::kFloat32, q.shape()}, state.view(), output.view()}, {"output", "q", "overlap"});
  const auto backward_refused = [&](const StateReadBackward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { state_read_backward(queue, args); }, words);
  };
  const StateReadBackward args{q.view(), state.view(), output.view(), dq.view(), {}};
  StateReadBackward broken = args;
  broken.doutput = q.view();
  backward_refused(broken, {"state", "[1, 2, 4, 4]"});
  broken = args;
  broken.dq = output.view();
  backward_refused(broken, {"dq", "[1, 3, 2, 4]"});
  broken = args;
  broken.dq = q.view();
  backward_refused(broken, {"dq", "q", "overlap"});
  broken = args;
  broken.dstate = q.view();
  backward_refused(broken, {"dstate", "[1, 2, 4, 5]"});
  broken = args;
  broken.dstate = state.view();
  backward_refused(broken, {"dstate", "state", "overlap"});
}

}  // namespace

}  // namespace segue::kernels

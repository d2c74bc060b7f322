// Fused relative attention against its formula, and what its contract promises besides.
#include "kernels/relative_attention.h"

#include "tests/kernels/relative_attention_problem.h"
#include "tests/kernels/unfused_relative_attention.h"

namespace segue::kernels {

namespace {

bool on_cpu() { return test_device().kind == DeviceKind::kCpu; }

// The emulated GPU is slow: there the borders of its tiles (32 and 64) decide.
template <typename T>
std::vector<T> where(std::vector<T> cpu, std::vector<T> gpu) {
  return on_cpu() ? std::move(cpu) : std::move(gpu);
}

std::string text_of(const AttentionCase& c) {
  return fmt::format("B {} T {} M {} N {} H {} P {} window {} dropatt {}", c.b, c.t, c.m, c.n, c.h, c.positions(),
                     c.window, c.dropatt);
}

double largest(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// With one key in sight, or one position for all, the softmax passes no gradient on: what is left is the rounding of
// terms of the size of dqkv.
void expect_gradient(const std::string& name, ConstTensorView found, const std::vector<double>& expected,
                     const std::vector<double>& dqkv) {
  constexpr double kDoubleRounding = 1e-12;
  if (largest(expected) > kDoubleRounding) return expect_close(name, found, expected, kGradient);
  for (const double value : oracle_values(found))
    ASSERT_TRUE(std::abs(value) <= kGradient.relative * largest(dqkv)) << name << ": expected 0, found " << value;
}

void expect_oracle(const AttentionCase& c) {
  SCOPED_TRACE(text_of(c));
  const AttentionProblem problem(c);
  const AttentionSolution found = solve(problem);
  auto inputs = oracle_inputs(problem);
  const std::vector<double> multipliers = oracle_multipliers(c);
  const auto expected = oracle::relative_attention(inputs, multipliers);
  const auto gradients =
      oracle::relative_attention_gradients(inputs, multipliers, oracle_values(problem.doutput.view()));
  expect_close("output", found.output.view(), expected.output, kReduction);
  expect_close("lse", found.lse.view(), expected.lse, kReduction);
  expect_close("dqkv", found.dqkv.view(), gradients.qkv, kGradient);
  expect_gradient("dmemory_kv", found.dmemory_kv.view(), gradients.memory_kv, gradients.qkv);
  expect_gradient("dr", found.dr.view(), gradients.r, gradients.qkv);
  expect_gradient("du", found.du.view(), gradients.u, gradients.qkv);
  expect_gradient("dw", found.dw.view(), gradients.w, gradients.qkv);
}

void expect_unfused(const AttentionCase& c) {
  SCOPED_TRACE(text_of(c));
  const AttentionProblem problem(c);
  const AttentionSolution found = solve(problem);
  const UnfusedSolution expected(problem, oracle_multipliers(c));
  expect_close("output", found.output.view(), expected.output, kReduction);
  expect_close("dqkv", found.dqkv.view(), expected.dqkv, kGradient);
  expect_close("dmemory_kv", found.dmemory_kv.view(), expected.dmemory_kv, kGradient);
  expect_close("dr", found.dr.view(), expected.dr, kGradient);
  expect_close("du", found.du.view(), expected.du, kGradient);
  expect_close("dw", found.dw.view(), expected.dw, kGradient);
}

void expect_same(const AttentionSolution& a, const AttentionSolution& b) {
  for (size_t i = 0; i < a.results().size(); ++i)
    expect_identical(a.results()[i].first, a.results()[i].second, b.results()[i].second);
}

TEST(RelativeAttentionOracle, GradientsEqualComplexStep) {
  const AttentionCase c{.b = 2, .t = 4, .m = 3, .n = 2, .h = 3, .p = 5, .window = 6, .dropatt = 0.3F};
  const AttentionProblem problem(c);
  auto real = oracle_inputs(problem);
  const std::vector<double> multipliers = oracle_multipliers(c);
  const std::vector<double> doutput = oracle_values(problem.doutput.view());
  const auto gradients = oracle::relative_attention_gradients(real, multipliers, doutput);
  const auto expect_gradient = [&](const std::string& name, auto member) {
    auto complex = oracle_inputs<std::complex<double>>(problem);
    const auto loss = [&](const ComplexVector& at) {
      complex.*(member.second) = at;
      return weighted_sum(oracle::relative_attention(complex, multipliers).output, doutput);
    };
    expect_close(name, gradients.*(member.first), complex_step_gradient(real.*(member.first), loss), kComplexStep);
  };
  using Real = oracle::AttentionTensors<double>;
  using Complex = oracle::AttentionTensors<std::complex<double>>;
  expect_gradient("qkv", std::pair(&Real::qkv, &Complex::qkv));
  expect_gradient("memory_kv", std::pair(&Real::memory_kv, &Complex::memory_kv));
  expect_gradient("r", std::pair(&Real::r, &Complex::r));
  expect_gradient("u", std::pair(&Real::u, &Complex::u));
  expect_gradient("w", std::pair(&Real::w, &Complex::w));
}

TEST(RelativeAttention, EqualsOracleForAllLengths) {
  const auto ts = where<int64_t>({1, 2, 31, 32, 33, 63, 64, 65, 131}, {1, 31, 32, 33, 65});
  const auto ms = where<int64_t>({0, 1, 31, 32, 33, 64, 97, 131}, {0, 1, 31, 32, 33, 64});
  for (const int64_t t : ts) {
    for (const int64_t m : ms) expect_oracle({.t = t, .m = m, .h = 8});
  }
}

TEST(RelativeAttention, EqualsOracleForAllHeadWidths) {
  for (const int64_t h :
       where<int64_t>({1, 8, 31, 32, 33, 41, 64, 80, 128, 129, 200, 256}, {1, 31, 32, 41, 64, 80, 128}))
    expect_oracle({.t = 35, .m = 50, .h = h, .dropatt = 0.3F});
}

TEST(RelativeAttention, EqualsOracleForStreamsAndHeads) {
  for (const int64_t b : where<int64_t>({1, 2, 5}, {3})) {
    for (const int64_t n : where<int64_t>({1, 3}, {2}))
      expect_oracle({.b = b, .t = 33, .m = 40, .n = n, .h = 41, .dropatt = 0.3F});
  }
}

TEST(RelativeAttention, EqualsOracleForWindows) {
  for (const auto& [t, m] : where<std::pair<int64_t, int64_t>>({{40, 70}, {131, 64}, {67, 0}}, {{40, 70}})) {
    for (const int64_t window : {int64_t{1}, int64_t{2}, t, m, t + m, t + m + 9, int64_t{63}, int64_t{65}})
      expect_oracle({.t = t, .m = m, .h = 16, .window = window, .dropatt = 0.3F});
  }
}

TEST(RelativeAttention, EqualsOracleForClampedDistances) {
  const AttentionCase extents =
      on_cpu() ? AttentionCase{.b = 2, .t = 70, .m = 101} : AttentionCase{.b = 2, .t = 35, .m = 40};
  for (const int64_t p : where<int64_t>({1, 2, 31, 64, 65, 100, 170}, {1, 32, 33, 74})) {
    for (const int64_t window : {0, 60})
      expect_oracle({.b = 2, .t = extents.t, .m = extents.m, .h = 16, .p = p, .window = window});
  }
}

TEST(RelativeAttention, EqualsUnfusedOperations) {
  expect_unfused({.b = 2, .t = 40, .m = 57, .n = 3, .h = 33});
  if (on_cpu()) expect_unfused({.b = 2, .t = 128, .m = 128, .n = 2, .h = 64, .dropatt = 0.3F});
  expect_unfused({.b = 1, .t = 70, .m = 90, .n = 2, .h = 20, .p = 64, .window = 90, .dropatt = 0.3F});
}

// Everything of one problem in bfloat16, against the oracle on the same rounded inputs.
void expect_bfloat16(AttentionCase c) {
  c.dtype = DType::kBFloat16;
  SCOPED_TRACE(text_of(c));
  const AttentionProblem problem(c);
  const AttentionSolution found = solve(problem);
  auto inputs = oracle_inputs(problem);
  const std::vector<double> multipliers = oracle_multipliers(c);
  const auto expected = oracle::relative_attention(inputs, multipliers);
  const auto gradients =
      oracle::relative_attention_gradients(inputs, multipliers, oracle_values(problem.doutput.view()));
  const UnfusedSolution naive(problem, multipliers);
  expect_near_as_naive("output", oracle_values(found.output.view()), expected.output, naive.output, kBFloat16Output);
  expect_near_as_naive("dqkv", oracle_values(found.dqkv.view()), gradients.qkv, naive.dqkv, kBFloat16Gradient);
  expect_near_as_naive("dmemory_kv", oracle_values(found.dmemory_kv.view()), gradients.memory_kv, naive.dmemory_kv,
                       kBFloat16Gradient);
  expect_near_as_naive("dr", oracle_values(found.dr.view()), gradients.r, naive.dr, kBFloat16Gradient);
  expect_near_as_naive("du", oracle_values(found.du.view()), gradients.u, naive.du, kBFloat16Gradient);
  expect_near_as_naive("dw", oracle_values(found.dw.view()), gradients.w, naive.dw, kBFloat16Gradient);
}

TEST(RelativeAttention, BFloat16IsAsNearAsTheNaivePath) {
  if (on_cpu()) GTEST_SKIP() << "float32 only";
  for (const int64_t h : {8, 31, 41, 64, 128}) expect_bfloat16({.t = 70, .m = 67, .h = h});
  expect_bfloat16({.b = 2, .t = 65, .m = 0, .n = 2, .h = 32, .dropatt = 0.3F});
  expect_bfloat16({.b = 2, .t = 33, .m = 131, .n = 2, .h = 16, .p = 60, .window = 90, .dropatt = 0.3F});
}

TEST(RelativeAttention, AccumulatesIntoBiasGradientsOnly) {
  const AttentionProblem problem({.b = 2, .t = 40, .m = 30, .n = 2, .h = 16});
  const AttentionSolution from_zero = solve(problem);
  const AttentionSolution from_one = solve(problem, 2, 1.0F);
  const auto plus_one = [](const OwnedTensor& tensor) {
    std::vector<double> values = oracle_values(tensor.view());
    for (double& value : values) value += 1.0;
    return values;
  };
  expect_close("du", from_one.du.view(), plus_one(from_zero.du), kReduction);
  expect_close("dw", from_one.dw.view(), plus_one(from_zero.dw), kReduction);
  expect_identical("dr", from_one.dr.view(), from_zero.dr.view());
}

// Nor does, on a GPU, the order of its threads.
TEST(RelativeAttention, ThreadsDoNotChangeABit) {
  const AttentionProblem problem(on_cpu() ? AttentionCase{.b = 3, .t = 131, .m = 70, .n = 3, .h = 33, .dropatt = 0.3F}
                                          : AttentionCase{.b = 2, .t = 65, .m = 33, .n = 2, .h = 33, .dropatt = 0.3F});
  const AttentionSolution alone = solve(problem, 1);
  for (const int threads : where<int>({2, 3, 5}, {2})) expect_same(alone, solve(problem, threads));
}

// exp(s) of these scores overflows without the running maximum; with all values 1 the output is 1 whatever they are.
TEST(RelativeAttention, ExtremeScoresStayFinite) {
  for (const double deviation : {100.0, 1e8, 1e15}) {
    AttentionProblem problem({.t = 70, .m = 90, .h = 16, .deviation = deviation});
    const AttentionCase& c = problem.extents;
    for (int64_t i = 0; i < c.t; ++i) std::fill_n(problem.qkv.as<float>() + (i * 3 + 2) * c.h, c.h, 1.0F);
    for (int64_t j = 0; j < c.m; ++j) std::fill_n(problem.memory_kv.as<float>() + (j * 2 + 1) * c.h, c.h, 1.0F);
    const AttentionSolution found = solve(problem);
    expect_close("output", found.output.view(), std::vector<double>(static_cast<size_t>(c.t * c.h), 1.0), kReduction);
    for (const auto& [name, view] : found.results()) {
      for (const double value : oracle_values(view)) ASSERT_TRUE(std::isfinite(value)) << name;
    }
  }
}

OwnedTensor output_of(const AttentionProblem& x) {
  Stream stream(test_device(), 2);
  AttentionSolution y(x.extents);
  relative_attention_forward(stream, forward_args(x, y));
  return std::move(y.output);
}

// Which queries see a change of key `key`, found by changing it.
std::vector<bool> queries_touched(const AttentionCase& c, int64_t key) {
  AttentionProblem problem(c);
  const OwnedTensor before = output_of(problem);
  float* row =
      key < c.m ? problem.memory_kv.as<float>() + key * 2 * c.h : problem.qkv.as<float>() + ((key - c.m) * 3 + 1) * c.h;
  for (int64_t h = 0; h < c.h; ++h) row[h] += 3.0F;
  const OwnedTensor after = output_of(problem);
  std::vector<bool> touched;
  for (int64_t i = 0; i < c.t; ++i) {
    const float* old_row = before.as<float>() + i * c.h;
    touched.push_back(!std::equal(old_row, old_row + c.h, after.as<float>() + i * c.h));
  }
  return touched;
}

TEST(RelativeAttention, InformationEndsAtTheWindowToTheBit) {
  for (const int64_t window : where<int64_t>({0, 1, 30, 64, 65}, {0, 1, 64})) {
    const AttentionCase c{.t = 100, .m = 70, .h = 16, .window = window};
    for (const int64_t key : where<int64_t>({0, 5, 69, 70, 71, 134, 169}, {0, 69, 71, 169})) {
      const std::vector<bool> touched = queries_touched(c, key);
      for (int64_t i = 0; i < c.t; ++i) {
        const int64_t distance = c.m + i - key;
        const bool other_keys = c.m + i > 0 && window != 1;  // a single key has all the weight, whatever its score
        const bool sees = distance >= 0 && (window == 0 || distance < window) && other_keys;
        EXPECT_EQ(touched[static_cast<size_t>(i)], sees) << "window " << window << " key " << key << " query " << i;
      }
    }
  }
}

TEST(RelativeAttention, DropoutFollowsTheGlobalElement) {
  const AttentionCase c{.b = 3, .t = 37, .m = 20, .n = 2, .h = 16, .dropatt = 0.3F};
  const AttentionProblem problem(c);
  const AttentionSolution all = solve(problem);
  AttentionProblem last({.b = 1, .t = c.t, .m = c.m, .n = c.n, .h = c.h, .dropatt = c.dropatt});
  last.qkv = copy_of(problem.qkv.view().rows(2, 1));
  last.memory_kv = copy_of(problem.memory_kv.view().rows(2, 1));
  AttentionSolution alone(last.extents);
  RelativeAttentionForward args = forward_args(last, alone);
  args.dropout.first_element += static_cast<uint64_t>(2 * c.n * c.t * c.keys());
  Stream stream(test_device(), 2);
  relative_attention_forward(stream, args);
  expect_identical("output", alone.output.view(), all.output.view().rows(2, 1));
}

TEST(RelativeAttention, DroppingAllGivesZeros) {
  const AttentionSolution found = solve(AttentionProblem({.t = 33, .m = 40, .h = 16, .dropatt = 1.0F}));
  for (const auto& [name, view] : found.results()) {
    if (name == "lse") continue;
    expect_close(name, view, std::vector<double>(static_cast<size_t>(view.elements())), Tolerance{0.0});
  }
}

TEST(RelativeAttention, NamesWhatBreaksTheContract) {
  const AttentionCase c{.b = 2, .t = 5, .m = 3, .n = 2, .h = 4};
  const AttentionProblem x(c);
  AttentionSolution y(c);
  Stream stream(test_device(), 1);
  const auto expect_forward = [&](auto change, const std::vector<std::string>& words) {
    RelativeAttentionForward args = forward_args(x, y);
    change(args);
    expect_contract_error([&] { relative_attention_forward(stream, args); }, words);
  };
  const auto expect_backward = [&](auto change, const std::vector<std::string>& words) {
    RelativeAttentionBackward args = backward_args(x, y);
    change(args);
    expect_contract_error([&] { relative_attention_backward(stream, args); }, words);
  };
  const OwnedTensor wide = random_tensor({2, 5, 3, 1, 257}, 1);
  const OwnedTensor long_r = random_tensor({9, 2, 4}, 1);
  const OwnedTensor four_parts = random_tensor({2, 5, 4, 2, 4}, 1);
  const OwnedTensor no_rows = random_tensor({0, 2, 4}, 1);
  expect_forward([&](auto& a) { a.qkv = wide.view(); }, {"qkv", on_cpu() ? "256" : "128", "257"});
  expect_forward([&](auto& a) { a.qkv = four_parts.view(); }, {"qkv", "[2, 5, 3, 2, 4]", "[2, 5, 4, 2, 4]"});
  expect_forward([&](auto& a) { a.qkv = {}; }, {"qkv"});
  expect_forward([&](auto& a) { a.qkv.dtype = DType::kInt32; }, {"qkv", "float32", "int32"});
  expect_forward([&](auto& a) { a.memory_kv = x.qkv.view(); }, {"memory_kv", "[2, 5, 2, 2, 4]", "[2, 5, 3, 2, 4]"});
  expect_forward([&](auto& a) { a.r = long_r.view(); }, {"r", "between 1 and 8", "9"});
  expect_forward([&](auto& a) { a.r = no_rows.view(); }, {"r", "between 1 and 8", "0"});
  expect_forward([&](auto& a) { a.u.data = nullptr; }, {"u", "no data"});
  expect_forward([&](auto& a) { a.w = a.r; }, {"w", "[2, 4]", "[8, 2, 4]"});
  expect_forward([&](auto& a) { a.window = -1; }, {"window", "-1"});
  expect_forward([&](auto& a) { a.dropout.p = 1.5F; }, {"dropout", "1.5"});
  expect_forward([&](auto& a) { a.dropout.p = NAN; }, {"dropout"});
  expect_forward([&](auto& a) { a.output = y.dr.view(); }, {"output", "[2, 5, 2, 4]", "[8, 2, 4]"});
  expect_forward([&](auto& a) { a.lse = y.du.view(); }, {"lse", "[2, 2, 5]", "[2, 4]"});
  expect_backward([&](auto& a) { a.workspace = y.du.view(); },
                  {"workspace", fmt::format("at least {}", attention_workspace(c, test_device().kind)), "[2, 4]"});
  expect_backward([&](auto& a) { a.doutput = {}; }, {"doutput", "[2, 5, 2, 4]"});
  expect_backward([&](auto& a) { a.dqkv = y.output.view(); }, {"dqkv", "[2, 5, 3, 2, 4]"});
  expect_backward([&](auto& a) { a.dmemory_kv = y.dqkv.view(); }, {"dmemory_kv", "[2, 3, 2, 2, 4]"});
  expect_backward([&](auto& a) { a.dr = y.du.view(); }, {"dr", "[8, 2, 4]"});
  expect_backward([&](auto& a) { a.du = {}; }, {"du", "[2, 4]"});
  expect_backward([&](auto& a) { a.dw = a.du; }, {"dw", "du"});
}

}  // namespace

}  // namespace segue::kernels

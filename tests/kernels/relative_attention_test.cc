// Fused relative attention against its formula, and what its contract promises besides.
#include "kernels/relative_attention.h"

#include "tests/kernels/patterns.h"
#include "tests/kernels/relative_attention_checks.h"
#include "tests/kernels/unfused_relative_attention.h"

namespace segue::kernels {

namespace {

void expect_unfused(const AttentionCase& c) {
  SCOPED_TRACE(text_of(c));
  const AttentionProblem problem(c);
  const AttentionSolution found = solve(problem);
  const AttentionResults expected = UnfusedSolution(problem).results();
  for (const auto& [name, view] : found.results()) {
    if (name != "lse" && !view.empty()) expect_close(name, view, expected.at(name), tolerance_of(name));
  }
}

void expect_complex_step(const AttentionCase& c) {
  SCOPED_TRACE(text_of(c));
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
  if (c.e > 0) expect_gradient("bias", std::pair(&Real::bias, &Complex::bias));
  if (c.g > 0) expect_gradient("gain", std::pair(&Real::gain, &Complex::gain));
}

TEST(RelativeAttentionOracle, GradientsEqualComplexStep) {
  expect_complex_step({.b = 2, .t = 4, .m = 3, .n = 2, .h = 3, .p = 5, .window = 6, .dropatt = 0.3F});
  for (const int64_t e : {5, 9}) {
    expect_complex_step(
        {.b = 2, .t = 4, .m = 3, .n = 2, .h = 3, .window = 6, .dropatt = 0.3F, .has_distances = false, .e = e});
    expect_complex_step(with_gains({.b = 2, .t = 4, .m = 3, .n = 2, .h = 3, .window = 6, .dropatt = 0.3F}, e));
  }
  expect_complex_step({.b = 2, .t = 7, .m = 3, .n = 2, .h = 3, .dropatt = 0.3F, .document = 4});
}

TEST(RelativeAttention, EqualsOracleForAllLengths) {
  for (const int64_t t : {1, 2, 31, 32, 33, 63, 64, 65, 131}) {
    for (const int64_t m : {0, 1, 31, 32, 33, 64, 97, 131}) expect_oracle({.t = t, .m = m, .h = 8});
  }
}

TEST(RelativeAttention, EqualsOracleForAllHeadWidths) {
  for (const int64_t h : {1, 8, 31, 32, 33, 41, 64, 65, 80, 128, 129, 200, 256}) {
    if (h <= widest_head()) expect_oracle({.t = 35, .m = 50, .h = h, .dropatt = 0.3F});
  }
}

TEST(RelativeAttention, EqualsOracleForStreamsAndHeads) {
  for (const int64_t b : {1, 3}) {
    for (const int64_t n : {1, 2}) {
      for (const int64_t t : {33, 150}) expect_oracle({.b = b, .t = t, .m = 40, .n = n, .h = 41, .dropatt = 0.3F});
    }
  }
}

TEST(RelativeAttention, EqualsOracleForWindows) {
  for (const auto& [t, m] : {std::pair<int64_t, int64_t>{40, 70}, {131, 64}, {67, 0}}) {
    for (const int64_t window : {int64_t{1}, int64_t{2}, t, m, t + m, t + m + 9, int64_t{63}, int64_t{65}})
      expect_oracle({.b = 2, .t = t, .m = m, .n = 2, .h = 16, .window = window, .dropatt = 0.3F});
  }
}

TEST(RelativeAttention, EqualsOracleForClampedDistances) {
  for (const int64_t p : {1, 2, 31, 32, 33, 64, 65, 100, 170}) {
    for (const int64_t window : {0, 60}) expect_oracle({.t = 70, .m = 101, .h = 16, .p = p, .window = window});
  }
}

TEST(RelativeAttention, EqualsOracleWithoutBiases) {
  for (const int64_t h : {8, 41, 128})
    expect_oracle({.b = 2, .t = 70, .m = 101, .n = 2, .h = h, .p = 65, .dropatt = 0.3F, .has_biases = false});
}

TEST(RelativeAttention, EqualsOracleWithoutDistances) {
  for (const int64_t t : {1, 33, 64, 131}) {
    for (const int64_t m : {0, 32, 97}) expect_oracle({.t = t, .m = m, .h = 8, .has_distances = false});
  }
  for (const int64_t h : {1, 31, 64, 80, 128, 256}) {
    if (h > widest_head()) continue;
    for (const bool has_biases : {false, true}) {
      expect_oracle({.b = 2,
                     .t = 70,
                     .m = 101,
                     .n = 2,
                     .h = h,
                     .window = h % 2 == 0 ? 60 : 0,
                     .dropatt = 0.3F,
                     .has_distances = false,
                     .has_biases = has_biases});
    }
  }
}

TEST(RelativeAttention, EqualsOracleWithBiasesByDistance) {
  for (const int64_t t : {1, 2, 31, 33, 64, 131}) {
    for (const int64_t m : {0, 1, 32, 33, 97}) expect_oracle({.t = t, .m = m, .has_distances = false, .e = t + m});
  }
  for (const int64_t h : {1, 31, 64, 80, 128, 256}) {
    if (h > widest_head()) continue;
    expect_oracle({.b = 2,
                   .t = 70,
                   .m = 101,
                   .n = 2,
                   .h = h,
                   .window = h % 2 == 0 ? 60 : 0,
                   .dropatt = 0.3F,
                   .has_distances = false,
                   .has_biases = h > 64,
                   .e = 171});
  }
}

TEST(RelativeAttention, EqualsOracleForFewerAndForMoreBiasesThanDistances) {
  for (const int64_t e : {1, 2, 31, 33, 65, 100, 170, 172, 300}) {
    for (const int64_t window : {0, 60})
      expect_oracle({.b = 2, .t = 70, .m = 101, .n = 2, .h = 16, .window = window, .has_distances = false, .e = e});
  }
}

TEST(RelativeAttention, EqualsOracleWithGainsByDistance) {
  for (const int64_t t : {1, 2, 31, 33, 64, 131}) {
    for (const int64_t m : {0, 1, 32, 33, 97}) expect_oracle(with_gains({.t = t, .m = m}, t + m));
  }
  for (const int64_t h : {1, 31, 64, 80, 128, 256}) {
    if (h > widest_head()) continue;
    const int64_t window = h % 2 == 0 ? 60 : 0;
    expect_oracle(with_gains({.b = 2, .t = 70, .m = 101, .n = 2, .h = h, .window = window, .dropatt = 0.3F}, 171));
  }
}

TEST(RelativeAttention, EqualsOracleForFewerAndForMoreGainsThanDistances) {
  for (const int64_t g : {1, 2, 31, 33, 65, 100, 170, 172, 300}) {
    for (const int64_t window : {0, 60})
      expect_oracle(with_gains({.b = 2, .t = 70, .m = 101, .n = 2, .h = 16, .window = window}, g));
  }
}

void drop_signs(TestTensor& tensor) {
  for (int64_t e = 0; e < tensor.shape().elements(); ++e) {
    if (tensor.view().dtype == DType::kFloat32) {
      tensor.as<float>()[e] = std::abs(tensor.as<float>()[e]);
    } else {
      tensor.as<BFloat16>()[e] = BFloat16(std::abs(static_cast<float>(tensor.as<BFloat16>()[e])));
    }
  }
}

// Queries and keys without negative elements, whose products are none either: to the bit what there is without gains.
TEST(RelativeAttention, GainsOfOneChangeNotABitOfScoresAboveZero) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const AttentionCase c{.b = 2, .t = 70, .m = 67, .n = 2, .h = 40, .window = 90, .dropatt = 0.3F, .dtype = dtype};
    AttentionProblem plain(with_gains(c, 0)), ones(with_gains(c, 1));
    for (AttentionProblem* problem : {&plain, &ones}) {
      drop_signs(problem->qkv);
      drop_signs(problem->memory_kv);
    }
    std::fill_n(ones.gain.as<float>(), ones.gain.shape().elements(), 1.0F);
    const AttentionSolution without = solve(plain), with = solve(ones);
    for (size_t i = 0; i + 2 < with.results().size(); ++i)
      expect_identical(with.results()[i].first, with.results()[i].second, without.results()[i].second);
  }
}

// Those of the gradients, too, that there are without them.
TEST(RelativeAttention, BiasesOfZeroChangeNotABit) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    AttentionCase c{.b = 2, .t = 70, .m = 67, .n = 2, .h = 40, .window = 90, .dropatt = 0.3F, .dtype = dtype};
    c.has_distances = false;
    const AttentionSolution without = solve(AttentionProblem(c));
    c.e = c.keys();
    AttentionProblem zeros(c);
    std::fill_n(zeros.bias.as<float>(), zeros.bias.shape().elements(), 0.0F);
    const AttentionSolution with = solve(zeros);
    for (size_t i = 0; i + 1 < with.results().size(); ++i)
      expect_identical(with.results()[i].first, with.results()[i].second, without.results()[i].second);
  }
}

TEST(RelativeAttention, GradientOfBiasesOrGainsMayBeLeftOut) {
  AttentionCase biased{.b = 2, .t = 40, .m = 57, .n = 2, .h = 16, .dropatt = 0.3F, .has_distances = false, .e = 97};
  AttentionCase gained = with_gains(biased, 97);
  gained.e = 0;
  for (const AttentionCase& c : {biased, gained}) {
    const AttentionProblem problem(c);
    const AttentionSolution all = solve(problem);
    AttentionSolution found(problem.extents);
    RelativeAttentionBackward backward = backward_args(problem, found);
    backward.dbias = backward.dgain = {};
    Queue queue(test_device(), 2);
    relative_attention_forward(queue, forward_args(problem, found));
    relative_attention_backward(queue, backward);
    for (size_t i = 0; i + 2 < all.results().size(); ++i)
      expect_identical(all.results()[i].first, found.results()[i].second, all.results()[i].second);
  }
}

TEST(RelativeAttention, EqualsOracleForSchedules) {
  for (const Pattern& pattern : patterns()) {
    for (const auto& [t, m] : {std::pair<int64_t, int64_t>{1, 130}, {70, 58}, {33, 97}, {150, 64}})
      expect_oracle({.t = t, .m = m, .n = 2, .h = 16, .dropatt = 0.3F, .pattern = pattern});
  }
}

TEST(RelativeAttention, EqualsOracleForSchedulesWithAllTermsAndWidths) {
  for (const int64_t h : {8, 41, 80, 200, 256}) {
    if (h > widest_head()) continue;
    const AttentionCase plain{.t = 150, .m = 64, .n = 2, .h = h, .dropatt = 0.3F, .pattern = every_other_block()};
    for (const AttentionCase& c : of_all_terms(plain)) expect_oracle(c);
    expect_oracle({.t = 16, .m = 48, .h = h, .pattern = everything()});
  }
  for (const int64_t length : {16, 32, 48, 96})  // the last tile of keys whole, that of queries not
    expect_oracle({.t = length, .m = length == 48 ? 80 : 128 - length, .h = 8, .pattern = everything()});
  for (const int64_t p : {1, 65, 170})
    expect_oracle({.b = 2, .t = 70, .m = 201, .n = 2, .h = 16, .p = p, .dropatt = 0.3F, .pattern = ends()});
}

// A schedule of all that a window sees gives the window's results to the bit, one of all pairs those without a window.
TEST(RelativeAttention, SchedulesChangeNotABit) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const int64_t window : {0, 70}) {
      const AttentionCase plain{.t = 90, .m = 101, .n = 2, .h = 40, .window = window, .dropatt = 0.3F, .dtype = dtype};
      for (AttentionCase c : of_all_terms(plain)) {
        SCOPED_TRACE(text_of(c));
        const AttentionSolution dense = solve(AttentionProblem(c));
        c.window = 0;
        c.pattern = window == 0 ? everything() : newest(window);
        expect_same(solve(AttentionProblem(c)), dense);
      }
    }
  }
}

TEST(RelativeAttention, EqualsUnfusedOperations) {
  expect_unfused({.b = 2, .t = 40, .m = 57, .n = 3, .h = 33});
  expect_unfused({.b = 1, .t = 128, .m = 128, .n = 2, .h = 64, .dropatt = 0.3F});
  expect_unfused({.b = 1, .t = 70, .m = 90, .n = 2, .h = 20, .p = 64, .window = 90, .dropatt = 0.3F});
  expect_unfused({.b = 2, .t = 70, .m = 90, .n = 2, .h = 20, .dropatt = 0.3F, .has_distances = false, .e = 64});
  expect_unfused(with_gains({.b = 2, .t = 70, .m = 90, .n = 2, .h = 20, .dropatt = 0.3F}, 64));
}

TEST(RelativeAttention, AccumulatesIntoBiasGradientsOnly) {
  const AttentionProblem problem({.b = 2, .t = 40, .m = 30, .n = 2, .h = 16});
  const AttentionSolution from_zero = solve(problem);
  const AttentionSolution from_one = solve(problem, 2, 1.0F);
  const auto plus_one = [](const TestTensor& tensor) {
    std::vector<double> values = oracle_values(tensor.view());
    for (double& value : values) value += 1.0;
    return values;
  };
  expect_close("du", from_one.du.view(), plus_one(from_zero.du), kReduction);
  expect_close("dw", from_one.dw.view(), plus_one(from_zero.dw), kReduction);
  expect_identical("dr", from_one.dr.view(), from_zero.dr.view());
}

// Nor does, on a GPU, the order of its threads; nor, on a CPU, that more threads get smaller parts.
TEST(RelativeAttention, ThreadsDoNotChangeABit) {
  for (const AttentionCase& c :
       of_all_terms({.b = 3, .t = 128, .m = 65, .n = 2, .h = 33, .dropatt = 0.3F, .pattern = everything()})) {
    const AttentionProblem listed(c);
    const AttentionSolution alone = solve(listed, 1);
    for (const int threads : {2, 3, 8}) expect_same(solve(listed, threads), alone);
  }
  for (const int64_t window : {0, 70}) {
    const AttentionProblem problem({.b = 2, .t = 150, .m = 33, .n = 2, .h = 33, .window = window, .dropatt = 0.3F});
    const AttentionSolution alone = solve(problem, 1);
    for (const int threads : {2, 3, 8}) expect_same(alone, solve(problem, threads));
  }
  const AttentionProblem biased(
      {.b = 3, .t = 150, .m = 33, .n = 2, .h = 33, .dropatt = 0.3F, .has_distances = false, .e = 183});
  const AttentionProblem gained(with_gains({.b = 3, .t = 150, .m = 33, .n = 2, .h = 33, .dropatt = 0.3F}, 183));
  for (const AttentionProblem* problem : {&biased, &gained}) {
    const AttentionSolution alone = solve(*problem, 1);
    for (const int threads : {2, 3, 8}) expect_same(alone, solve(*problem, threads));
  }
}

// exp(s) of these scores overflows without the running maximum; with all values 1 the output is 1 whatever they are.
TEST(RelativeAttention, MemoryPitchOnlySpacesTheStreams) {
  const AttentionCase c{.b = 3, .t = 17, .m = 29, .n = 2, .h = 8};
  constexpr int64_t kPitch = 40;
  const AttentionProblem problem(c);
  TestTensor spaced = unset_tensor({c.b, kPitch, 2, c.n, c.h});
  const int64_t row = 2 * c.n * c.h;
  for (int64_t b = 0; b < c.b; ++b) {
    std::copy_n(problem.memory_kv.as<float>() + b * c.m * row, c.m * row, spaced.as<float>() + b * kPitch * row);
  }
  const AttentionSolution expected = solve(problem);
  AttentionSolution found(c);
  RelativeAttentionForward forward = forward_args(problem, found);
  RelativeAttentionBackward backward = backward_args(problem, found);
  for (RelativeAttentionInputs* inputs : {&forward.inputs, &backward.inputs}) {
    inputs->memory_kv = view_of(std::as_const(spaced).view().as<float>(), {c.b, c.m, 2, c.n, c.h});
    inputs->memory_pitch = kPitch;
  }
  Queue queue(test_device(), 2);
  relative_attention_forward(queue, forward);
  relative_attention_backward(queue, backward);
  expect_same(found, expected);
}

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

TEST(RelativeAttention, InformationEndsAtTheWindowToTheBit) {
  for (const int64_t window : {0, 1, 30, 64, 65}) {
    const AttentionCase c{.t = 100, .m = 70, .h = 16, .window = window};
    for (const int64_t key : {0, 5, 69, 70, 71, 134, 169}) {
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
  args.inputs.dropout.first_element += static_cast<uint64_t>(2 * c.n * c.t * c.keys());
  Queue queue(test_device(), 2);
  relative_attention_forward(queue, args);
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
  Queue queue(test_device(), 1);
  const auto expect_forward = [&](auto change, const std::vector<std::string>& words) {
    RelativeAttentionForward args = forward_args(x, y);
    change(args);
    expect_contract_error([&] { relative_attention_forward(queue, args); }, words);
  };
  const auto expect_backward = [&](auto change, const std::vector<std::string>& words) {
    RelativeAttentionBackward args = backward_args(x, y);
    change(args);
    expect_contract_error([&] { relative_attention_backward(queue, args); }, words);
  };
  const TestTensor wide = random_tensor({2, 5, 3, 1, 257}, 1);
  const TestTensor long_r = random_tensor({9, 2, 4}, 1);
  const TestTensor four_parts = random_tensor({2, 5, 4, 2, 4}, 1);
  const TestTensor no_rows = random_tensor({0, 2, 4}, 1);
  expect_forward([&](auto& a) { a.inputs.qkv = wide.view(); }, {"qkv", std::to_string(widest_head()), "257"});
  expect_forward([&](auto& a) { a.inputs.qkv = four_parts.view(); }, {"qkv", "[2, 5, 3, 2, 4]", "[2, 5, 4, 2, 4]"});
  expect_forward([&](auto& a) { a.inputs.qkv = {}; }, {"qkv"});
  expect_forward([&](auto& a) { a.inputs.qkv.dtype = DType::kInt32; }, {"qkv", "float32", "int32"});
  expect_forward([&](auto& a) { a.inputs.qkv.dtype = DType::kBFloat16; }, {"memory_kv", "bfloat16", "float32"});
  expect_forward([&](auto& a) { a.inputs.memory_kv = x.qkv.view(); },
                 {"memory_kv", "[2, 5, 2, 2, 4]", "[2, 5, 3, 2, 4]"});
  expect_forward([&](auto& a) { a.inputs.r = long_r.view(); }, {"r", "at most 8", "9"});
  expect_forward([&](auto& a) { a.inputs.r = no_rows.view(); }, {"w", "empty without r"});
  expect_forward([&](auto& a) { a.inputs.w = a.inputs.r; }, {"w", "[2, 4]", "[8, 2, 4]"});
  const TestTensor biases = random_tensor({2, 8}, 1);
  TestTensor dbiases = unset_tensor({2, 8});
  const auto without_r = [&](auto& a) { a.inputs.r = {}, a.inputs.w = {}, a.inputs.bias = biases.view(); };
  expect_forward([&](auto& a) { a.inputs.bias = biases.view(); }, {"bias", "empty with r", "[2, 8]"});
  expect_forward([&](auto& a) { without_r(a), a.inputs.bias = a.inputs.qkv; }, {"bias"});
  expect_forward([&](auto& a) { without_r(a), a.inputs.bias = biases.view().rows(0, 1); },
                 {"bias", "[2, 8]", "[1, 8]"});
  expect_backward([&](auto& a) { a.dbias = dbiases.view(); }, {"dbias", "empty without its input", "[2, 8]"});
  const auto only_gain = [&](auto& a) {
    a.inputs.r = {}, a.inputs.u = {}, a.inputs.w = {}, a.inputs.gain = biases.view();
  };
  expect_forward([&](auto& a) { a.inputs.gain = biases.view(); }, {"gain", "empty with r", "[2, 8]"});
  expect_forward([&](auto& a) { only_gain(a), a.inputs.u = x.u.view(); }, {"u", "empty with gain", "[2, 4]"});
  expect_forward([&](auto& a) { only_gain(a), a.inputs.bias = biases.view(); }, {"bias", "empty with gain", "[2, 8]"});
  expect_forward([&](auto& a) { only_gain(a), a.inputs.gain = a.inputs.gain.rows(0, 1); },
                 {"gain", "[2, 8]", "[1, 8]"});
  expect_backward([&](auto& a) { a.dgain = dbiases.view(); }, {"dgain", "empty without its input", "[2, 8]"});
  expect_forward([&](auto& a) { a.inputs.reach = biases.view(); }, {"reach", "int32", "float32"});
  expect_forward([&](auto& a) { a.inputs.reach = biases.view(), a.inputs.reach.dtype = DType::kInt32; },
                 {"reach", "[2, 5]", "[2, 8]"});
  TestTensor ahead(DType::kInt32, {2, 5});
  expect_forward([&](auto& a) { a.inputs.ahead = ahead.view(); }, {"r", "empty with ahead", "[8, 2, 4]"});
  expect_forward([&](auto& a) { without_r(a), a.inputs.ahead = ahead.view(); }, {"bias", "empty with ahead", "[2, 8]"});
  expect_forward([&](auto& a) { only_gain(a), a.inputs.ahead = ahead.view(); }, {"gain", "empty with ahead", "[2, 8]"});
  expect_forward([&](auto& a) { a.inputs.ahead = ahead.view().rows(0, 1); }, {"ahead", "[2, 5]", "[1, 5]"});
  expect_forward([&](auto& a) { a.inputs.window = -1; }, {"window", "-1"});
  expect_forward([&](auto& a) { a.inputs.memory_pitch = 2; }, {"memory_pitch", "at least 3", "2"});
  expect_forward([&](auto& a) { a.inputs.dropout.p = 1.5F; }, {"dropout", "1.5"});
  expect_forward([&](auto& a) { a.inputs.dropout.p = NAN; }, {"dropout"});
  expect_forward([&](auto& a) { a.output = y.dr.view(); }, {"output", "[2, 5, 2, 4]", "[8, 2, 4]"});
  expect_forward([&](auto& a) { a.lse = y.du.view(); }, {"lse", "[2, 2, 5]", "[2, 4]"});
  expect_backward([&](auto& a) { a.workspace = y.du.view(); },
                  {"workspace", fmt::format("at least {}", attention_workspace(c, test_device().kind)), "[2, 4]"});
  expect_backward([&](auto& a) { a.doutput = {}; }, {"doutput", "[2, 5, 2, 4]"});
  expect_backward([&](auto& a) { a.dqkv = y.output.view(); }, {"dqkv", "[2, 5, 3, 2, 4]"});
  expect_backward([&](auto& a) { a.dmemory_kv = y.dqkv.view(); }, {"dmemory_kv", "[2, 3, 2, 2, 4]"});
  expect_backward([&](auto& a) { a.inputs.u = {}; }, {"du", "empty without its input", "[2, 4]"});
  expect_backward([&](auto& a) { a.dr = y.du.view(); }, {"dr", "[8, 2, 4]"});
  expect_backward([&](auto& a) { a.du = {}; }, {"du", "[2, 4]"});
  expect_backward([&](auto& a) { a.dw = a.du; }, {"dw", "du"});
}

}  // namespace

}  // namespace segue::kernels

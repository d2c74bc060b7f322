// States that tokens write and read: against the oracle for every decay, with erasing and without, in parts and whole.
#include "kernels/state_scan.h"

#include <limits>
#include <numeric>

#include "tests/kernels/state_scan_problem.h"

namespace segue::kernels {

namespace {

std::vector<StateCase> cases() {
  std::vector<StateCase> all;
  for (const DecayShape decay : {DecayShape::kNone, DecayShape::kHead, DecayShape::kToken, DecayShape::kChannel}) {
    for (const bool erases : {false, true}) {
      all.push_back({2, 37, 3, 8, 16, decay, erases});
      all.push_back({1, 16, 2, 33, 17, decay, erases, false, true});
      all.push_back({1, 5, 1, 1, 1, decay, erases, true, false});
      all.push_back({1, 130, 2, 16, 48, decay, erases});
    }
  }
  all.push_back({1, 128, 2, 64, 65, DecayShape::kChannel, true});
  all.push_back({2, 18, 1, 64, 136, DecayShape::kToken, true});
  all.push_back({1, 155, 2, 24, 40, DecayShape::kToken, false});
  all.push_back({2, 93, 1, 72, 72, DecayShape::kChannel, true});
  all.push_back({1, 20, 1, 130, 136, DecayShape::kChannel, true});
  all.push_back({3, 1, 2, 64, 64, DecayShape::kToken, true});
  all.push_back({1, 65, 1, 64, 64, DecayShape::kChannel, true});
  all.push_back({1, 20, 1, 256, 40, DecayShape::kToken, true});
  if (!test_device().is_cuda()) all.push_back({1, 50, 1, 250, 500, DecayShape::kChannel, true});  // slow if emulated
  return all;
}

TEST(StateScan, EqualsTheOracle) {
  for (const StateCase& c : cases()) {
    SCOPED_TRACE(c.text());
    const StateProblem x(c);
    const StateSolution y = solve(x);
    const ExpectedStates<> expected(x);
    expect_close("output", y.output.view(), expected.output, kReduction);
    expect_close("final", y.final.view(), expected.final, kReduction);
    expect_close("dq", y.dq.view(), expected.dq, kGradient);
    expect_close("dk", y.dk.view(), expected.dk, kGradient);
    expect_close("dv", y.dv.view(), expected.dv, kGradient);
    expect_close("dlog_decay", y.dlog_decay.view(), expected.dlog_decay, kGradient);
    expect_close("dbeta", y.dbeta.view(), expected.dbeta, kGradient);
    expect_close("dinitial", y.dinitial.view(), expected.dinitial, kGradient);
  }
}

TEST(StateScan, IsAsGoodAsNaiveBFloat16) {
  for (StateCase c : cases()) {
    if (c.t < 16) continue;  // too few sums for the naive way to be off
    c.dtype = DType::kBFloat16;
    SCOPED_TRACE(c.text());
    const StateProblem x(c);
    const StateSolution y = solve(x);
    const ExpectedStates<> expected(x);
    const ExpectedStates<NaiveBFloat16> naive(x);
    const auto check = [](const char* what, const TestTensor& found, const std::vector<double>& is,
                          const std::vector<NaiveBFloat16>& naive_is,
                          double factor) { expect_near_as_naive(what, found.view(), is, widened(naive_is), factor); };
    check("output", y.output, expected.output, naive.output, kBFloat16Output);
    check("final", y.final, expected.final, naive.final, kBFloat16Output);
    check("dq", y.dq, expected.dq, naive.dq, kBFloat16Gradient);
    check("dk", y.dk, expected.dk, naive.dk, kBFloat16Gradient);
    check("dv", y.dv, expected.dv, naive.dv, kBFloat16Gradient);
    check("dlog_decay", y.dlog_decay, expected.dlog_decay, naive.dlog_decay, kBFloat16Gradient);
    check("dbeta", y.dbeta, expected.dbeta, naive.dbeta, kBFloat16Gradient);
    check("dinitial", y.dinitial, expected.dinitial, naive.dinitial, kBFloat16Gradient);
  }
}

TEST(StateScanOracle, GradientsEqualComplexStep) {
  for (const DecayShape decay : {DecayShape::kToken, DecayShape::kChannel}) {
    for (const bool erases : {false, true}) {
      const StateProblem x({1, 6, 1, 3, 4, decay, erases});
      const std::vector<double> doutput = oracle_values(x.doutput.view()), dfinal = oracle_values(x.dfinal.view());
      const auto found = oracle::state_scan_gradients<double>(x.of_head(0, 0), doutput, dfinal);
      using Complex = oracle::StateScan<std::complex<double>>;
      const auto check = [&](const char* what, const std::vector<double>& gradient,
                             std::vector<std::complex<double>> Complex::*member) {
        Complex in = x.of_head<std::complex<double>>(0, 0);
        std::vector<double> point;
        for (const std::complex<double>& value : in.*member) point.push_back(value.real());
        const std::vector<double> expected = complex_step_gradient(point, [&](const ComplexVector& at) {
          in.*member = at;
          const auto results = oracle::state_scan(in);
          return weighted_sum(results.output, doutput) + weighted_sum(results.last(), dfinal);
        });
        expect_close(what, gradient, expected, kComplexStep);
      };
      check("q", found.q, &Complex::q);
      check("k", found.k, &Complex::k);
      check("v", found.v, &Complex::v);
      check("log_decay", found.log_decay, &Complex::log_decay);
      check("beta", found.beta, &Complex::beta);
      check("initial", found.initial, &Complex::initial);
    }
  }
}

TEST(StateScanOracle, WithoutErasingEqualsSumsOverEarlierTokens) {
  for (const DecayShape decay : {DecayShape::kNone, DecayShape::kHead, DecayShape::kToken, DecayShape::kChannel}) {
    const auto in = StateProblem({1, 23, 1, 5, 7, decay}).of_head(0, 0);
    expect_close("output", oracle::state_scan(in).output, oracle::state_scan_as_sums(in), kComplexStep);
  }
}

TEST(StateScanOracle, InChunksIsTheSame) {
  for (const DecayShape decay : {DecayShape::kNone, DecayShape::kHead, DecayShape::kToken, DecayShape::kChannel}) {
    for (const bool erases : {false, true}) {
      const auto in = StateProblem({1, 23, 1, 5, 7, decay, erases}).of_head(0, 0);
      for (const size_t chunk : {1, 4, 16, 23}) {
        const auto found = oracle::state_scan_in_chunks(in, chunk);
        expect_close("output", found.output, oracle::state_scan(in).output, kComplexStep);
        expect_close("last", found.last(), oracle::state_scan(in).last(), kComplexStep);
      }
    }
  }
}

// Another division of a text into chunks rounds its sums in another order.
void expect_same(const char* what, ConstTensorView found, ConstTensorView expected) {
  expect_close(what, found, oracle_values(expected), kReduction);
}

// Five parts of unequal lengths, each from the state that the one before left.
void expect_same_in_parts(const StateCase& of) {
  for (const bool erases : {false, true}) {
    StateProblem x(of);
    x.c.erases = erases;
    const StateSolution whole = solve(x);
    Queue queue(test_device(), 2);
    TestTensor state = copy_of(x.initial.view());
    const StateCase& c = x.c;
    int64_t first = 0;
    for (const int64_t count : {1, 16, 3, 17, 73}) {
      const auto part = [&](const TestTensor& from) {
        const Shape& shape = from.shape();
        const int64_t row = shape.elements() / (c.b * c.t);
        Shape of_part{c.b, count};
        for (int i = 2; i < shape.rank(); ++i) of_part.append(shape[i]);
        TestTensor to(DType::kFloat32, of_part);
        for (int64_t b = 0; b < c.b; ++b)
          std::copy_n(from.as<float>() + (b * c.t + first) * row, count * row, to.as<float>() + b * count * row);
        return to;
      };
      const TestTensor q = part(x.q), k = part(x.k), v = part(x.v), log_decay = part(x.log_decay), beta = part(x.beta);
      TestTensor output = unset_tensor(v.shape());
      state_scan_forward(queue, {.inputs = {.q = q.view(),
                                            .k = k.view(),
                                            .v = v.view(),
                                            .log_decay = log_decay.view(),
                                            .beta = beta.view(),
                                            .initial = state.view(),
                                            .scale = 0.7F,
                                            .erases = erases},
                                 .output = output.view(),
                                 .final = state.view(),
                                 .kept = {}});
      expect_same("output", output.view(), part(whole.output).view());
      first += count;
    }
    expect_same("final", state.view(), whole.final.view());
  }
}

TEST(StateScan, InPartsIsTheSame) {
  expect_same_in_parts({2, 110, 2, 12, 80, DecayShape::kChannel});
  expect_same_in_parts({2, 110, 2, 16, 32, DecayShape::kChannel});
}

// The final state may take the place of the initial one, and states need not be kept.
TEST(StateScan, WhereStatesLieDoesNotChangeABit) {
  for (const bool has_initial : {false, true}) {
    for (const int64_t values : {32, 80}) {
      const StateProblem x({2, 110, 2, 16, values, DecayShape::kToken, true, true, has_initial});
      const StateSolution apart = solve(x);
      for (const bool keeps : {false, true}) {
        for (const bool in_place : {false, true}) {
          Queue queue(test_device(), 2);
          StateSolution y(x.c);
          StateScanForward args{.inputs = x.inputs(),
                                .output = y.output.view(),
                                .final = y.final.view(),
                                .kept = keeps ? y.kept.view() : TensorView{}};
          if (in_place && has_initial) {
            y.final = copy_of(x.initial.view());
            args.final = y.final.view();
            args.inputs.initial = y.final.view();
          }
          state_scan_forward(queue, args);
          expect_identical("output", y.output.view(), apart.output.view());
          expect_identical("final", y.final.view(), apart.final.view());
          if (keeps) expect_identical("kept", y.kept.view(), apart.kept.view());
        }
      }
    }
  }
}

void expect_identical_solutions(const StateSolution& found, const StateSolution& expected) {
  using S = StateSolution;
  for (const auto part :
       {&S::output, &S::final, &S::kept, &S::dq, &S::dk, &S::dv, &S::dlog_decay, &S::dbeta, &S::dinitial})
    expect_identical("a result", (found.*part).view(), (expected.*part).view());
}

TEST(StateScan, ThreadsDoNotChangeABit) {
  const StateProblem x({2, 80, 1, 32, 80, DecayShape::kChannel, true});
  expect_identical_solutions(solve(x, 3), solve(x, 1));
  const StateProblem square({1, 80, 1, 64, 64, DecayShape::kChannel, true});
  expect_identical_solutions(solve(square, 4), solve(square, 1));
}

// Of orthonormal keys and full strength nothing is there to be erased.
TEST(StateScan, ErasingLeavesOrthonormalKeysAlone) {
  constexpr int64_t kKeys = 16;
  StateProblem x({1, kKeys, 1, kKeys, 8, DecayShape::kNone, false, false, false});
  for (int64_t e = 0; e < kKeys * kKeys; ++e) x.k.as<float>()[e] = e % (kKeys + 1) == 0 ? 1.0F : 0.0F;
  const StateSolution sums = solve(x);
  x.c.erases = true;
  expect_close("output", solve(x).output.view(), oracle_values(sums.output.view()), kElementwise);
}

TEST(StateScan, DecaysOfOneChangeNothing) {
  for (const bool erases : {false, true}) {
    const StateProblem none({2, 20, 2, 8, 8, DecayShape::kNone, erases});
    StateProblem one({2, 20, 2, 8, 8, DecayShape::kChannel, erases});
    std::fill_n(one.log_decay.as<float>(), one.log_decay.shape().elements(), 0.0F);
    expect_same("output", solve(one).output.view(), solve(none).output.view());
    const StateProblem all({2, 20, 2, 8, 8, DecayShape::kToken, erases});
    StateProblem channels({2, 20, 2, 8, 8, DecayShape::kChannel, erases});
    for (int64_t row = 0; row < 2 * 20 * 2; ++row)
      std::fill_n(channels.log_decay.as<float>() + row * 8, 8, all.log_decay.as<float>()[row]);
    expect_same("output", solve(channels).output.view(), solve(all).output.view());
  }
}

// A fixed decay g weighs a token as ALiBi's bias of slope -log g does, without a softmax.
TEST(StateScan, FixedDecaysAreSlopesOfAlibi) {
  for (const double slope : {0.25, 0.0625, 0.015625, 0.00390625}) {
    StateProblem x({1, 37, 1, 8, 16, DecayShape::kHead, false, false, false});
    x.log_decay.as<float>()[0] = static_cast<float>(-slope);
    const auto in = x.of_head(0, 0);
    std::vector<double> expected(in.t * in.v_width);
    for (size_t t = 0; t < in.t; ++t) {
      for (size_t s = 0; s <= t; ++s) {
        const double *query = &in.q[t * in.k_width], *key = &in.k[s * in.k_width];
        const double score = in.scale * std::inner_product(query, query + in.k_width, key, 0.0);
        for (size_t c = 0; c < in.v_width; ++c)
          expected[t * in.v_width + c] +=
              score * std::exp(-slope * static_cast<double>(t - s)) * in.v[s * in.v_width + c];
      }
    }
    expect_close("output", solve(x).output.view(), expected, kReduction);
  }
}

TEST(StateScan, TheLastGradientMayBeOverwrittenOrLeftOut) {
  for (const bool erases : {false, true}) {
    for (const StateCase& c : {StateCase{2, 80, 2, 24, 80}, StateCase{2, 80, 2, 16, 64}}) {
      StateProblem x({c.b, c.t, c.n, c.k, c.v, DecayShape::kToken, erases});
      expect_identical_solutions(solve(x, 2, LastGradient::kOverwritten), solve(x));
      const StateSolution without = solve(x, 2, LastGradient::kNone);
      std::fill_n(x.dfinal.as<float>(), x.dfinal.shape().elements(), 0.0F);
      expect_identical_solutions(without, solve(x));
    }
  }
}

// Steps that bfloat16 could not add to what is there.
TEST(StateScan, GoesOnInFloat32) {
  StateProblem x({1, 64, 1, 8, 8, DecayShape::kNone, false, false, true, DType::kBFloat16});
  for (int64_t e = 0; e < 64 * 8; ++e) {
    x.k.as<BFloat16>()[e] = BFloat16(e % 8 == 0 ? 1.0F : 0.0F);
    x.v.as<BFloat16>()[e] = BFloat16(0.0625F);
  }
  std::fill_n(x.initial.as<float>(), 8 * 8, 256.0F);
  const StateSolution y = solve(x);
  for (int64_t e = 0; e < 8 * 8; ++e) EXPECT_EQ(y.final.as<float>()[e], e < 8 ? 260.0F : 256.0F) << e;
}

// However fast a state decays, what was just written is read as it is.
TEST(StateScan, DecaysOfAlmostEverythingLeaveTheNewest) {
  for (const DecayShape decay : {DecayShape::kToken, DecayShape::kChannel}) {
    StateProblem x({1, 40, 1, 8, 8, decay, true});
    float* log_decay = x.log_decay.as<float>();
    for (int64_t e = 0; e < x.log_decay.shape().elements(); ++e) log_decay[e] *= e % 3 == 0 ? 200.0F : 20.0F;
    log_decay[20] = -std::numeric_limits<float>::infinity();
    const StateSolution y = solve(x);
    const ExpectedStates<> expected(x);
    expect_close("output", y.output.view(), expected.output, kReduction);
    expect_close("dq", y.dq.view(), expected.dq, kGradient);
    expect_close("dk", y.dk.view(), expected.dk, kGradient);
    expect_close("dlog_decay", y.dlog_decay.view(), expected.dlog_decay, kGradient);
  }
}

// Nor is what its decays receive lost among what they do not change. (A GPU sums differences.)
TEST(StateScan, DecaysOfAlmostEverythingHaveExactGradients) {
  if (test_device().is_cuda()) GTEST_SKIP() << "on the CPU alone";
  for (const DecayShape decay : {DecayShape::kToken, DecayShape::kChannel}) {
    for (const bool erases : {false, true}) {
      StateProblem x({1, 21, 1, 8, 8, decay, erases});
      std::fill_n(x.log_decay.as<float>(), x.log_decay.shape().elements(), -30.0F);
      expect_close("dlog_decay", solve(x).dlog_decay.view(), ExpectedStates<>(x).dlog_decay, kGradient);
    }
  }
}

TEST(StateScan, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  const StateProblem x({1, 3, 2, 4, 5, DecayShape::kToken, true});
  StateSolution y(x.c);
  const auto refused = [&](const StateScanInputs& inputs, const std::vector<std::string>& words) {
    const StateScanForward args{inputs, y.output.view(), y.final.view(), {}};
    expect_contract_error([&] { state_scan_forward(queue, args); }, words);
  };
  StateScanInputs inputs = x.inputs();
  inputs.k = x.v.view();
  refused(inputs, {"k", "[1, 3, 2, 4]"});
  inputs = x.inputs();
  inputs.log_decay = x.initial.view();
  refused(inputs, {"log_decay", "[1, 3, 2, 4]"});
  inputs = x.inputs();
  inputs.beta = x.log_decay.view().reshaped({3, 2});
  refused(inputs, {"beta", "[1, 3, 2]"});
}

}  // namespace

}  // namespace segue::kernels

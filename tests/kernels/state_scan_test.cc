// States that tokens write and read: against the oracle for every decay, with erasing and without, in parts and whole.
#include "kernels/state_scan.h"

#include <fmt/format.h>

#include <limits>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/state_scan.h"

namespace segue::kernels {

namespace {

enum class Decay : uint8_t { kNone, kHead, kToken, kChannel };

struct Case {
  int64_t b, t, n, k, v;
  Decay decay = Decay::kNone;
  bool erases = false;
  bool has_beta = true;
  bool has_initial = true;
  DType dtype = DType::kFloat32;

  std::string text() const {
    return fmt::format("B {} T {} N {} K {} V {} decay {} {} {} {} {}", b, t, n, k, v, static_cast<int>(decay),
                       erases ? "erases" : "", has_beta ? "beta" : "", has_initial ? "initial" : "", name_of(dtype));
  }
};

// Keys of about unit length, so that what is erased is what was written; decays and strengths between 0 and 1.
struct Problem {
  Case c;
  TestTensor q, k, v, log_decay, beta, initial, doutput, dfinal;

  explicit Problem(const Case& of)
      : c(of),
        q(cast(random_tensor({c.b, c.t, c.n, c.k}, 1), c.dtype)),
        k(cast(random_tensor({c.b, c.t, c.n, c.k}, 2, 1.0 / std::sqrt(static_cast<double>(c.k))), c.dtype)),
        v(cast(random_tensor({c.b, c.t, c.n, c.v}, 3), c.dtype)),
        initial(c.has_initial ? random_tensor({c.b, c.n, c.k, c.v}, 4) : TestTensor()),
        doutput(cast(random_tensor({c.b, c.t, c.n, c.v}, 5), c.dtype)),
        dfinal(random_tensor({c.b, c.n, c.k, c.v}, 6)) {
    const auto gates = [](const Shape& shape, uint16_t site, auto made) {
      TestTensor tensor = random_tensor(shape, site);
      for (int64_t e = 0; e < shape.elements(); ++e) tensor.as<float>()[e] = made(tensor.as<float>()[e]);
      return tensor;
    };
    const auto logarithm = [](float x) { return -std::log1p(std::exp(-x - 1.0F)); };
    if (c.decay == Decay::kHead) log_decay = gates({c.n}, 7, logarithm);
    if (c.decay == Decay::kToken) log_decay = gates({c.b, c.t, c.n}, 7, logarithm);
    if (c.decay == Decay::kChannel) log_decay = gates({c.b, c.t, c.n, c.k}, 7, logarithm);
    if (c.has_beta) beta = gates({c.b, c.t, c.n}, 8, [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
  }

  StateScanInputs inputs() const {
    return {.q = q.view(),
            .k = k.view(),
            .v = v.view(),
            .log_decay = c.decay == Decay::kNone ? ConstTensorView{} : log_decay.view(),
            .beta = c.has_beta ? beta.view() : ConstTensorView{},
            .initial = c.has_initial ? initial.view() : ConstTensorView{},
            .scale = 0.7F,
            .erases = c.erases};
  }

  template <typename Scalar = double>
  oracle::StateScan<Scalar> of_head(int64_t b, int64_t n) const {
    const auto rows = [&](const TestTensor& from, int64_t width) {
      const std::vector<Scalar> all = oracle_values<Scalar>(from.view());
      std::vector<Scalar> picked;
      for (int64_t t = 0; t < c.t; ++t) {
        const auto first = all.begin() + ((b * c.t + t) * c.n + n) * width;
        picked.insert(picked.end(), first, first + width);
      }
      return picked;
    };
    const auto times = [&](int64_t width) { return static_cast<size_t>(c.t * width); };
    oracle::StateScan<Scalar> in{.t = static_cast<size_t>(c.t),
                                 .k_width = static_cast<size_t>(c.k),
                                 .v_width = static_cast<size_t>(c.v),
                                 .q = rows(q, c.k),
                                 .k = rows(k, c.k),
                                 .v = rows(v, c.v),
                                 .log_decay = std::vector<Scalar>(times(c.k)),
                                 .beta = std::vector<Scalar>(times(1), 1.0),
                                 .initial = std::vector<Scalar>(static_cast<size_t>(c.k * c.v)),
                                 .scale = static_cast<double>(0.7F),
                                 .erases = c.erases};
    if (c.decay == Decay::kChannel) in.log_decay = rows(log_decay, c.k);
    for (int64_t t = 0; t < c.t; ++t) {
      for (int64_t i = 0; i < c.k; ++i) {
        Scalar& decay = in.log_decay[static_cast<size_t>(t * c.k + i)];
        if (c.decay == Decay::kHead) decay = log_decay.as<float>()[n];
        if (c.decay == Decay::kToken) decay = log_decay.as<float>()[(b * c.t + t) * c.n + n];
      }
    }
    if (c.has_beta) in.beta = rows(beta, 1);
    if (c.has_initial) {
      const std::vector<Scalar> all = oracle_values<Scalar>(initial.view());
      const auto first = all.begin() + (b * c.n + n) * c.k * c.v;
      in.initial.assign(first, first + c.k * c.v);
    }
    return in;
  }
};

struct Solution {
  TestTensor output, final, kept, dq, dk, dv, dlog_decay, dbeta, dinitial;

  explicit Solution(const Case& c)
      : output(cast(unset_tensor({c.b, c.t, c.n, c.v}), c.dtype)),
        final(unset_tensor({c.b, c.n, c.k, c.v})),
        kept(unset_tensor({c.b, c.n, kept_states(c.t, test_device().kind), c.k, c.v})),
        dq(cast(unset_tensor({c.b, c.t, c.n, c.k}), c.dtype)),
        dk(cast(unset_tensor({c.b, c.t, c.n, c.k}), c.dtype)),
        dv(cast(unset_tensor({c.b, c.t, c.n, c.v}), c.dtype)),
        dinitial(unset_tensor({c.b, c.n, c.k, c.v})) {
    if (c.decay == Decay::kToken) dlog_decay = unset_tensor({c.b, c.t, c.n});
    if (c.decay == Decay::kChannel) dlog_decay = unset_tensor({c.b, c.t, c.n, c.k});
    if (c.has_beta) dbeta = unset_tensor({c.b, c.t, c.n});
  }
};

// What the gradient of the last state is: one tensor, or none, or what becomes the gradient of the first.
enum class LastGradient : uint8_t { kGiven, kNone, kOverwritten };

Solution solve(const Problem& x, int threads = 2, LastGradient last = LastGradient::kGiven) {
  Queue queue(test_device(), threads);
  Solution y(x.c);
  if (last == LastGradient::kOverwritten) y.dinitial = copy_of(x.dfinal.view());
  state_scan_forward(queue,
                     {.inputs = x.inputs(), .output = y.output.view(), .final = y.final.view(), .kept = y.kept.view()});
  state_scan_backward(queue, {.inputs = x.inputs(),
                              .kept = y.kept.view(),
                              .doutput = x.doutput.view(),
                              .dfinal = last == LastGradient::kGiven  ? x.dfinal.view()
                                        : last == LastGradient::kNone ? ConstTensorView{}
                                                                      : y.dinitial.view(),
                              .dq = y.dq.view(),
                              .dk = y.dk.view(),
                              .dv = y.dv.view(),
                              .dlog_decay = y.dlog_decay.view(),
                              .dbeta = y.dbeta.view(),
                              .dinitial = y.dinitial.view()});
  return y;
}

// The oracle's results of all heads, laid out as the tensors are, computed with this kind of number.
template <typename Scalar = double>
struct Expected {
  using Numbers = std::vector<Scalar>;
  Numbers output, final, dq, dk, dv, dlog_decay, dbeta, dinitial;

  explicit Expected(const Problem& x)
      : output(size(x.c.t * x.c.v, x.c)),
        final(size(x.c.k * x.c.v, x.c)),
        dq(size(x.c.t * x.c.k, x.c)),
        dk(size(x.c.t * x.c.k, x.c)),
        dv(size(x.c.t * x.c.v, x.c)),
        dbeta(size(x.c.t, x.c)),
        dinitial(size(x.c.k * x.c.v, x.c)) {
    const Case& c = x.c;
    Numbers of_channels(size(c.t * c.k, c));
    const Numbers all_doutput = oracle_values<Scalar>(x.doutput.view()),
                  all_dfinal = oracle_values<Scalar>(x.dfinal.view());
    for (int64_t b = 0; b < c.b; ++b) {
      for (int64_t n = 0; n < c.n; ++n) {
        const auto rows_from = [&](const Numbers& all, int64_t width) {
          Numbers picked;
          for (int64_t t = 0; t < c.t; ++t) {
            const auto first = all.begin() + ((b * c.t + t) * c.n + n) * width;
            picked.insert(picked.end(), first, first + width);
          }
          return picked;
        };
        const auto rows_to = [&](Numbers& all, const Numbers& rows, int64_t width) {
          for (int64_t t = 0; t < c.t; ++t)
            std::copy_n(rows.begin() + t * width, width, all.begin() + ((b * c.t + t) * c.n + n) * width);
        };
        const int64_t state = c.k * c.v;
        const int64_t place = (b * c.n + n) * state;
        const auto in = x.of_head<Scalar>(b, n);
        const auto results = oracle::state_scan(in);
        const auto to = oracle::state_scan_gradients<Scalar>(
            in, rows_from(all_doutput, c.v), {all_dfinal.begin() + place, all_dfinal.begin() + place + state});
        rows_to(output, results.output, c.v);
        std::ranges::copy(results.last(), final.begin() + place);
        rows_to(dq, to.q, c.k);
        rows_to(dk, to.k, c.k);
        rows_to(dv, to.v, c.v);
        rows_to(of_channels, to.log_decay, c.k);
        rows_to(dbeta, to.beta, 1);
        std::ranges::copy(to.initial, dinitial.begin() + place);
      }
    }
    if (c.decay == Decay::kChannel) dlog_decay = of_channels;
    if (c.decay == Decay::kToken) {
      for (size_t first = 0; first < of_channels.size(); first += static_cast<size_t>(c.k)) {
        Scalar sum = 0.0;
        for (int64_t i = 0; i < c.k; ++i) sum += of_channels[first + static_cast<size_t>(i)];
        dlog_decay.push_back(sum);
      }
    }
    if (!c.has_beta) dbeta.clear();
  }

 private:
  static size_t size(int64_t of_head, const Case& c) { return static_cast<size_t>(of_head * c.b * c.n); }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Decay decay : {Decay::kNone, Decay::kHead, Decay::kToken, Decay::kChannel}) {
    for (const bool erases : {false, true}) {
      all.push_back({2, 37, 3, 8, 16, decay, erases});
      all.push_back({1, 16, 2, 33, 17, decay, erases, false, true});
      all.push_back({1, 5, 1, 1, 1, decay, erases, true, false});
    }
  }
  all.push_back({1, 128, 2, 64, 65, Decay::kChannel, true});
  all.push_back({2, 18, 1, 64, 136, Decay::kToken, true});
  all.push_back({1, 149, 2, 24, 40, Decay::kToken, false});
  all.push_back({2, 85, 1, 72, 72, Decay::kChannel, true});
  all.push_back({1, 20, 1, 130, 136, Decay::kChannel, true});
  all.push_back({3, 1, 2, 64, 64, Decay::kToken, true});
  all.push_back({1, 20, 1, 256, 40, Decay::kToken, true});
  return all;
}

TEST(StateScan, EqualsTheOracle) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    const Problem x(c);
    const Solution y = solve(x);
    const Expected<> expected(x);
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

// A number that is rounded to bfloat16 after every operation.
class Naive {
 public:
  Naive(double value = 0.0) : value_(static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))))) {}
  explicit operator double() const { return value_; }

  Naive operator-() const { return {-value_}; }
  friend Naive operator+(Naive a, Naive b) { return {a.value_ + b.value_}; }
  friend Naive operator-(Naive a, Naive b) { return {a.value_ - b.value_}; }
  friend Naive operator*(Naive a, Naive b) { return {a.value_ * b.value_}; }
  Naive& operator+=(Naive other) { return *this = *this + other; }
  Naive& operator*=(Naive other) { return *this = *this * other; }
  friend Naive exp(Naive x) { return {std::exp(x.value_)}; }

 private:
  double value_;
};

TEST(StateScan, IsAsGoodAsNaiveBFloat16) {
  for (Case c : cases()) {
    if (c.t < 16) continue;  // too few sums for the naive way to be off
    c.dtype = DType::kBFloat16;
    SCOPED_TRACE(c.text());
    const Problem x(c);
    const Solution y = solve(x);
    const Expected<> expected(x);
    const Expected<Naive> naive(x);
    const auto check = [](const char* what, const TestTensor& found, const std::vector<double>& is,
                          const std::vector<Naive>& naive_is, double factor) {
      std::vector<double> rounded_always;
      for (const Naive& value : naive_is) rounded_always.push_back(static_cast<double>(value));
      expect_near_as_naive(what, found.view(), is, rounded_always, factor);
    };
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
  for (const Decay decay : {Decay::kToken, Decay::kChannel}) {
    for (const bool erases : {false, true}) {
      const Problem x({1, 6, 1, 3, 4, decay, erases});
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
  for (const Decay decay : {Decay::kNone, Decay::kHead, Decay::kToken, Decay::kChannel}) {
    const auto in = Problem({1, 23, 1, 5, 7, decay}).of_head(0, 0);
    expect_close("output", oracle::state_scan(in).output, oracle::state_scan_as_sums(in), kComplexStep);
  }
}

TEST(StateScanOracle, InChunksIsTheSame) {
  for (const Decay decay : {Decay::kNone, Decay::kHead, Decay::kToken, Decay::kChannel}) {
    for (const bool erases : {false, true}) {
      const auto in = Problem({1, 23, 1, 5, 7, decay, erases}).of_head(0, 0);
      const auto expected = oracle::state_scan(in);
      for (const size_t chunk : {1, 4, 16, 23}) {
        const auto found = oracle::state_scan_in_chunks(in, chunk);
        expect_close("output", found.output, expected.output, kComplexStep);
        expect_close("last", found.last(), expected.last(), kComplexStep);
      }
    }
  }
}

// Another division of a text into chunks rounds its sums in another order.
void expect_same(const char* what, ConstTensorView found, ConstTensorView expected) {
  expect_close(what, found, oracle_values(expected), kReduction);
}

// Five parts of unequal lengths, each from the state that the one before left.
TEST(StateScan, InPartsIsTheSame) {
  for (const bool erases : {false, true}) {
    const Problem x({2, 40, 2, 12, 20, Decay::kChannel, erases});
    const Solution whole = solve(x);
    Queue queue(test_device(), 2);
    TestTensor state = copy_of(x.initial.view());
    const Case& c = x.c;
    int64_t first = 0;
    for (const int64_t count : {1, 16, 3, 17, 3}) {
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

TEST(StateScan, ThreadsDoNotChangeABit) {
  const Problem x({2, 64, 3, 32, 48, Decay::kChannel, true});
  const Solution one = solve(x, 1);
  const Solution three = solve(x, 3);
  expect_identical("output", three.output.view(), one.output.view());
  expect_identical("dq", three.dq.view(), one.dq.view());
  expect_identical("dk", three.dk.view(), one.dk.view());
  expect_identical("dlog_decay", three.dlog_decay.view(), one.dlog_decay.view());
  expect_identical("dinitial", three.dinitial.view(), one.dinitial.view());
}

// Of orthonormal keys and full strength nothing is there to be erased.
TEST(StateScan, ErasingLeavesOrthonormalKeysAlone) {
  constexpr int64_t kKeys = 16;
  Problem x({1, kKeys, 1, kKeys, 8, Decay::kNone, false, false, false});
  for (int64_t e = 0; e < kKeys * kKeys; ++e) x.k.as<float>()[e] = e % (kKeys + 1) == 0 ? 1.0F : 0.0F;
  const Solution sums = solve(x);
  x.c.erases = true;
  expect_close("output", solve(x).output.view(), oracle_values(sums.output.view()), kElementwise);
}

TEST(StateScan, DecaysOfOneChangeNothing) {
  for (const bool erases : {false, true}) {
    const Problem none({2, 20, 2, 8, 8, Decay::kNone, erases});
    Problem one({2, 20, 2, 8, 8, Decay::kChannel, erases});
    std::fill_n(one.log_decay.as<float>(), one.log_decay.shape().elements(), 0.0F);
    expect_same("output", solve(one).output.view(), solve(none).output.view());
    const Problem all({2, 20, 2, 8, 8, Decay::kToken, erases});
    Problem channels({2, 20, 2, 8, 8, Decay::kChannel, erases});
    for (int64_t row = 0; row < 2 * 20 * 2; ++row)
      std::fill_n(channels.log_decay.as<float>() + row * 8, 8, all.log_decay.as<float>()[row]);
    expect_same("output", solve(channels).output.view(), solve(all).output.view());
  }
}

TEST(StateScan, TheLastGradientMayBeOverwrittenOrLeftOut) {
  for (const bool erases : {false, true}) {
    Problem x({2, 37, 2, 24, 80, Decay::kToken, erases});
    const auto same = [&](const Solution& found, const Solution& expected) {
      expect_identical("dq", found.dq.view(), expected.dq.view());
      expect_identical("dv", found.dv.view(), expected.dv.view());
      expect_identical("dlog_decay", found.dlog_decay.view(), expected.dlog_decay.view());
      expect_identical("dinitial", found.dinitial.view(), expected.dinitial.view());
    };
    same(solve(x, 2, LastGradient::kOverwritten), solve(x));
    const Solution without = solve(x, 2, LastGradient::kNone);
    std::fill_n(x.dfinal.as<float>(), x.dfinal.shape().elements(), 0.0F);
    same(without, solve(x));
  }
}

// Steps that bfloat16 could not add to what is there.
TEST(StateScan, GoesOnInFloat32) {
  Problem x({1, 64, 1, 8, 8, Decay::kNone, false, false, true, DType::kBFloat16});
  for (int64_t e = 0; e < 64 * 8; ++e) {
    x.k.as<BFloat16>()[e] = BFloat16(e % 8 == 0 ? 1.0F : 0.0F);
    x.v.as<BFloat16>()[e] = BFloat16(0.0625F);
  }
  std::fill_n(x.initial.as<float>(), 8 * 8, 256.0F);
  const Solution y = solve(x);
  for (int64_t e = 0; e < 8 * 8; ++e) EXPECT_EQ(y.final.as<float>()[e], e < 8 ? 260.0F : 256.0F) << e;
}

// However fast a state decays, what was just written is read as it is.
TEST(StateScan, DecaysOfAlmostEverythingLeaveTheNewest) {
  for (const Decay decay : {Decay::kToken, Decay::kChannel}) {
    Problem x({1, 40, 1, 8, 8, decay, true});
    float* log_decay = x.log_decay.as<float>();
    for (int64_t e = 0; e < x.log_decay.shape().elements(); ++e) log_decay[e] *= e % 3 == 0 ? 200.0F : 20.0F;
    log_decay[20] = -std::numeric_limits<float>::infinity();
    const Solution y = solve(x);
    const Expected<> expected(x);
    expect_close("output", y.output.view(), expected.output, kReduction);
    expect_close("dq", y.dq.view(), expected.dq, kGradient);
    expect_close("dk", y.dk.view(), expected.dk, kGradient);
    expect_close("dlog_decay", y.dlog_decay.view(), expected.dlog_decay, kGradient);
  }
}

TEST(StateScan, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  const Problem x({1, 3, 2, 4, 5, Decay::kToken, true});
  Solution y(x.c);
  const auto refused = [&](const StateScanInputs& inputs, const std::vector<std::string>& words) {
    const StateScanForward args{.inputs = inputs, .output = y.output.view(), .final = y.final.view(), .kept = {}};
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

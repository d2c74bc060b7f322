// A convolution over a few tokens: against the oracle, in parts and whole, and on its own input.
#include "kernels/short_convolution.h"

#include <fmt/format.h>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/short_convolution.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t b, t, c, s;
  bool has_before = true, has_dafter = true;
  DType dtype = DType::kFloat32;

  std::string text() const {
    return fmt::format("B {} T {} C {} S {}{}{} {}", b, t, c, s, has_before ? " before" : "",
                       has_dafter ? " dafter" : "", name_of(dtype));
  }
};

struct Problem {
  Case c;
  Shape rows, boundary;
  TestTensor x, taps, before, dy, dafter;

  explicit Problem(const Case& of)
      : c(of),
        rows{of.b, of.t, of.c},
        boundary{of.b, of.s - 1, of.c},
        x(cast(random_tensor(rows, 1), of.dtype)),
        taps(random_tensor({of.c, of.s}, 2)),
        before(random_tensor(boundary, 3)),
        dy(cast(random_tensor(rows, 4), of.dtype)),
        dafter(random_tensor(boundary, 5)) {}

  ShortConvolutionInputs inputs() const {
    return {.x = x.view(), .taps = taps.view(), .before = c.has_before ? before.view() : ConstTensorView{}};
  }
  ConstTensorView later() const { return c.has_dafter ? dafter.view() : ConstTensorView{}; }

  template <typename Scalar = double>
  oracle::ShortConvolution<Scalar> oracles() const {
    return {.streams = static_cast<size_t>(c.b),
            .tokens = static_cast<size_t>(c.t),
            .channels = static_cast<size_t>(c.c),
            .width = static_cast<size_t>(c.s),
            .x = oracle_values<Scalar>(x.view()),
            .taps = oracle_values<Scalar>(taps.view()),
            .before = oracle_values<Scalar>(inputs().before)};
  }
  oracle::ShortConvolutionGradients gradients() const {
    return oracle::short_convolution_gradients(oracles(), values(dy), oracle_values(later()));
  }
};

struct Solution {
  TestTensor y, after, dx, dtaps, dbefore;

  explicit Solution(const Problem& p)
      : y(cast(unset_tensor(p.rows), p.c.dtype)),
        after(unset_tensor(p.boundary)),
        dx(cast(unset_tensor(p.rows), p.c.dtype)),
        dtaps(filled_tensor({p.c.c, p.c.s}, 1.0F)),
        dbefore(unset_tensor(p.boundary)) {}
};

Solution solve(const Problem& p, int threads = 2) {
  Queue queue(test_device(), threads);
  Solution s(p);
  short_convolution_forward(queue, {.inputs = p.inputs(), .y = s.y.view(), .after = s.after.view()});
  short_convolution_backward(queue, {.inputs = p.inputs(),
                                     .dy = p.dy.view(),
                                     .dafter = p.later(),
                                     .dx = s.dx.view(),
                                     .dtaps = s.dtaps.view(),
                                     .dbefore = s.dbefore.view()});
  return s;
}

// `after` starts as before, and is it; `dbefore` starts as dafter, and is it.
Solution solve_in_place(const Problem& p, int threads) {
  Queue queue(test_device(), threads);
  Solution s(p);
  s.after = copy_of(p.before.view());
  s.dbefore = copy_of(p.dafter.view());
  ShortConvolutionInputs in = p.inputs();
  in.before = s.after.view();
  short_convolution_forward(queue, {.inputs = in, .y = s.y.view(), .after = s.after.view()});
  short_convolution_backward(queue, {.inputs = p.inputs(),
                                     .dy = p.dy.view(),
                                     .dafter = s.dbefore.view(),
                                     .dx = s.dx.view(),
                                     .dtaps = s.dtaps.view(),
                                     .dbefore = s.dbefore.view()});
  return s;
}

void expect_same_bits(const Solution& a, const Solution& b) {
  expect_identical("y", a.y.view(), b.y.view());
  expect_identical("after", a.after.view(), b.after.view());
  expect_identical("dx", a.dx.view(), b.dx.view());
  expect_identical("dtaps", a.dtaps.view(), b.dtaps.view());
  expect_identical("dbefore", a.dbefore.view(), b.dbefore.view());
}

// Sizes around vectors, slices of channels, runs and blocks of tokens; in turn with and without the ends of a segment.
std::vector<Case> cases(DType dtype) {
  std::vector<Case> all;
  for (const int64_t s : {2, 3, 4, 8}) {
    for (const int64_t c : {1, 7, 31, 32, 33, 64, 130}) {
      for (const int64_t t : {1, 2, 3, 5, 31, 33, 97}) {
        const size_t number = all.size() + static_cast<size_t>(c);
        all.push_back({2, t, c, s, number % 2 == 0, number / 2 % 2 == 0, dtype});
      }
    }
  }
  for (const int64_t s : {5, 6, 7}) all.push_back({1, 20, 9, s, true, true, dtype});
  return all;
}

TEST(ShortConvolutionTest, EqualsTheOracle) {
  for (const Case& c : cases(DType::kFloat32)) {
    SCOPED_TRACE(c.text());
    const Problem p(c);
    const Solution s = solve(p);
    const auto expected = oracle::short_convolution(p.oracles());
    expect_close("y", s.y.view(), expected.y, kReduction);
    EXPECT_EQ(values(s.after), expected.after);
    oracle::ShortConvolutionGradients gradients = p.gradients();
    for (double& sum : gradients.taps) sum += 1.0;
    expect_close("dx", s.dx.view(), gradients.x, kGradient);
    expect_close("dtaps", s.dtaps.view(), gradients.taps, kGradient);
    expect_close("dbefore", s.dbefore.view(), gradients.before, kGradient);
  }
}

TEST(ShortConvolutionTest, EqualsTheOracleInBFloat16) {
  for (const Case& c : cases(DType::kBFloat16)) {
    SCOPED_TRACE(c.text());
    const Problem p(c);
    const Solution s = solve(p);
    const auto expected = oracle::short_convolution(p.oracles());
    expect_near_as_naive("y", s.y.view(), expected.y, rounded(expected.y), kBFloat16Output);
    EXPECT_EQ(values(s.after), expected.after);
    oracle::ShortConvolutionGradients gradients = p.gradients();
    for (double& sum : gradients.taps) sum += 1.0;
    expect_near_as_naive("dx", s.dx.view(), gradients.x, rounded(gradients.x), kBFloat16Gradient);
    expect_close("dtaps", s.dtaps.view(), gradients.taps, kGradient);
    expect_close("dbefore", s.dbefore.view(), gradients.before, kGradient);
  }
}

TEST(ShortConvolutionOracle, GradientsEqualComplexStep) {
  for (const int64_t s : {2, 4, 8}) {
    for (const int64_t t : {1, 3, 6, 11}) {
      const Problem p({2, t, 2, s});
      const std::vector<double> dy = values(p.dy), dafter = values(p.dafter);
      const oracle::ShortConvolutionGradients found = p.gradients();
      using Complex = oracle::ShortConvolution<std::complex<double>>;
      const auto check = [&](const char* what, const std::vector<double>& gradient, const TestTensor& point,
                             ComplexVector Complex::*member) {
        auto in = p.oracles<std::complex<double>>();
        const std::vector<double> expected = complex_step_gradient(values(point), [&](const ComplexVector& at) {
          in.*member = at;
          const auto results = oracle::short_convolution(in);
          return weighted_sum(results.y, dy) + weighted_sum(results.after, dafter);
        });
        expect_close(what, gradient, expected, kComplexStep);
      };
      check("x", found.x, p.x, &Complex::x);
      check("taps", found.taps, p.taps, &Complex::taps);
      check("before", found.before, p.before, &Complex::before);
    }
  }
}

// Rows [begin, end) of the tokens of every stream.
TestTensor tokens_of(const TestTensor& from, int64_t begin, int64_t end) {
  const Shape& shape = from.shape();
  const int64_t row_bytes = shape[2] * bytes_of(from.view().dtype);
  const HostTensor host(from.view(), test_device());
  OwnedTensor part(from.view().dtype, {shape[0], end - begin, shape[2]});
  for (int64_t b = 0; b < shape[0]; ++b) {
    const std::byte* first = host.view().data + (b * shape[1] + begin) * row_bytes;
    std::copy_n(first, (end - begin) * row_bytes, part.view().data + b * (end - begin) * row_bytes);
  }
  TestTensor tokens(part.view().dtype, part.view().shape);
  copy_tensor(tokens.view(), part.view(), test_device());
  return tokens;
}

TEST(ShortConvolutionTest, InPartsEqualsTheWholeToTheBit) {
  Queue queue(test_device(), 2);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const int64_t s : {2, 4, 8}) {
      const Problem p({2, 97, 35, s, true, true, dtype});
      const Solution whole = solve(p);
      TestTensor state = copy_of(p.before.view());
      int64_t begin = 0;
      for (const int64_t count : {1, 1, 2, 33, 3, 17, 5, 35}) {
        SCOPED_TRACE(fmt::format("S {}, {} tokens from {}", s, count, begin));
        const TestTensor x = tokens_of(p.x, begin, begin + count);
        TestTensor y = cast(unset_tensor(x.shape()), dtype), after = unset_tensor(p.boundary);
        short_convolution_forward(
            queue, {.inputs = {.x = x.view(), .taps = p.taps.view(), .before = std::as_const(state).view()},
                    .y = y.view(),
                    .after = after.view()});
        expect_identical("y", y.view(), tokens_of(whole.y, begin, begin + count).view());
        state = std::move(after);
        begin += count;
      }
      EXPECT_EQ(begin, 97);
      expect_identical("after", state.view(), whole.after.view());
    }
  }
}

TEST(ShortConvolutionTest, WithoutBeforeEqualsZeros) {
  Case c{2, 21, 35, 4, false, true};
  const Solution without = solve(Problem(c));
  c.has_before = true;
  Problem zeros(c);
  zeros.before = filled_tensor(zeros.boundary, 0.0F);
  expect_same_bits(without, solve(zeros));
}

// Enough elements for a team of threads from 5 tokens on.
TEST(ShortConvolutionTest, InPlaceChangesNotABit) {
  for (const int64_t s : {3, 8}) {
    for (const int64_t t : {1, 2, 5, 7, 8, 18}) {
      const Problem p({5, t, 1330, s});
      SCOPED_TRACE(p.c.text());
      expect_same_bits(solve_in_place(p, 3), solve(p, 1));
    }
  }
}

TEST(ShortConvolutionTest, WithoutGradientsOfBefore) {
  Queue queue(test_device(), 2);
  const Problem p({2, 5, 33, 8});
  const Solution with = solve(p);
  Solution s(p);
  short_convolution_backward(
      queue,
      {.inputs = p.inputs(), .dy = p.dy.view(), .dafter = p.later(), .dx = s.dx.view(), .dtaps = s.dtaps.view()});
  expect_identical("dx", s.dx.view(), with.dx.view());
  expect_identical("dtaps", s.dtaps.view(), with.dtaps.view());
}

TEST(ShortConvolutionTest, ThreadsDoNotChangeABit) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const Problem p({3, 97, 130, 4, true, true, dtype});
    const Solution once = solve(p, 1);
    for (const int threads : {2, 3, 5}) expect_same_bits(solve(p, threads), once);
  }
}

// NaN exactly in rows [begin, end) of `channel` of stream 0.
void expect_nan(const char* what, const TestTensor& tensor, int64_t begin, int64_t end, int64_t channel) {
  const std::vector<double> found = values(tensor);
  const int64_t rows = tensor.shape()[1], channels = tensor.shape()[2];
  for (int64_t e = 0; e < static_cast<int64_t>(found.size()); ++e) {
    const int64_t row = e / channels;  // of stream 0, or beyond its rows
    const bool is_nan = row < rows && row >= begin && row < end && e % channels == channel;
    EXPECT_EQ(std::isnan(found[e]), is_nan) << what << ", row " << row << ", channel " << e % channels;
  }
}

TEST(ShortConvolutionTest, NanStaysInItsChannelAndItsTokens) {
  const Case c{2, 65, 35, 4};
  for (const int64_t channel : {0, 5, 34}) {
    for (const int64_t t : {0, 14, 30, 63, 64}) {
      SCOPED_TRACE(fmt::format("channel {} token {}", channel, t));
      Problem p(c);
      p.x.as<float>()[t * c.c + channel] = NAN;
      const Solution s = solve(p);
      expect_nan("y", s.y, t, t + 4, channel);
      expect_nan("after", s.after, t - 62, t - 61, channel);
      expect_nan("dx", s.dx, t - 3, t + 4, channel);
      expect_nan("dbefore", s.dbefore, t, 3, channel);
      const std::vector<double> dtaps = values(s.dtaps);
      for (int64_t tap = 0; tap < c.c * c.s; ++tap) EXPECT_EQ(std::isnan(dtaps[tap]), tap / c.s == channel) << tap;
      Problem of_gradient(c);
      of_gradient.dy.as<float>()[t * c.c + channel] = NAN;
      expect_nan("dx of dy", solve(of_gradient).dx, t - 3, t + 1, channel);
    }
  }
}

TEST(ShortConvolutionTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  const auto floats = [](const Shape& shape) { return TestTensor(DType::kFloat32, shape); };
  TestTensor x = floats({2, 3, 4}), y = floats({2, 3, 4}), z = floats({2, 3, 4}), taps = floats({4, 3});
  TestTensor after = floats({2, 2, 4}), dtaps = floats({4, 3}), longer = floats({3, 2, 4});
  const auto forward = [&](const ShortConvolutionInputs& in, TensorView to, TensorView later) {
    return [=, &queue] { short_convolution_forward(queue, {.inputs = in, .y = to, .after = later}); };
  };
  const ShortConvolutionInputs in{.x = x.view(), .taps = taps.view()};
  for (const int64_t s : {1, 9}) {
    const TestTensor wrong = floats({4, s});
    expect_contract_error(forward({.x = x.view(), .taps = wrong.view()}, y.view(), after.view()),
                          {"short_convolution_forward", "S", "at least 2, at most 8", std::to_string(s)});
  }
  const TestTensor of_others = floats({5, 3}), nothing = floats({2, 0, 4});
  expect_contract_error(forward({.x = x.view(), .taps = of_others.view()}, y.view(), after.view()),
                        {"taps", "[4, 3]", "[5, 3]"});
  expect_contract_error(forward({.x = nothing.view(), .taps = taps.view()}, y.view(), after.view()),
                        {"T", "at least 1"});
  expect_contract_error(forward({.x = x.view(), .taps = taps.view(), .before = z.view()}, y.view(), after.view()),
                        {"before", "[2, 2, 4]", "[2, 3, 4]"});
  expect_contract_error(forward(in, unset_bfloat16({2, 3, 4}).view(), after.view()), {"y", "float32", "bfloat16"});
  expect_contract_error(forward(in, y.view(), z.view()), {"after", "[2, 2, 4]", "[2, 3, 4]"});
  expect_contract_error(forward(in, x.view(), after.view()), {"y", "apart from x"});
  expect_contract_error(forward({.x = x.view(), .taps = taps.view(), .before = longer.view().rows(0, 2)}, y.view(),
                                longer.view().rows(1, 2)),
                        {"after", "apart from before"});

  ShortConvolutionBackward args{
      .inputs = in, .dy = y.view(), .dafter = {}, .dx = z.view(), .dtaps = dtaps.view(), .dbefore = {}};
  args.inputs.before = after.view();
  const auto backward = [&] { short_convolution_backward(queue, args); };
  backward();
  args.dbefore = after.view();
  expect_contract_error(backward, {"short_convolution_backward", "dbefore", "apart from before"});
  args.dbefore = longer.view().rows(0, 2);
  args.dafter = longer.view().rows(1, 2);
  expect_contract_error(backward, {"dbefore", "apart from dafter"});
  args.dbefore = {};
  args.dx = y.view();
  expect_contract_error(backward, {"dx", "apart from dy"});
  args.dx = x.view();
  expect_contract_error(backward, {"dx", "apart from x"});
  args.dx = z.view();
  args.dtaps = after.view();
  expect_contract_error(backward, {"dtaps", "[4, 3]", "[2, 2, 4]"});
}

}  // namespace

}  // namespace segue::kernels

// What rows of the memory receive of attention, against sums of the oracle's weights.
#include "tests/kernels/relative_attention_checks.h"
#include "tests/oracle/matmul.h"

namespace segue::kernels {

namespace {

// Rows of the memory, from `first` on.
struct Rows {
  int64_t first = 0, count = 0;
};

TestTensor received_of(const AttentionProblem& problem, const Rows& rows, ConstTensorView before = {},
                       int threads = 2) {
  const AttentionCase& c = problem.extents;
  Queue queue(test_device(), threads);
  AttentionSolution y(c);
  relative_attention_forward(queue, forward_args(problem, y));
  TestTensor received = unset_tensor({c.b, c.n, rows.count});
  relative_attention_received(queue, {.inputs = inputs_of(problem),
                                      .lse = y.lse.view(),
                                      .first_key = rows.first,
                                      .before = before,
                                      .received = received.view()});
  return received;
}

std::vector<double> expected_of(const AttentionProblem& problem, const Rows& rows) {
  const AttentionCase& c = problem.extents;
  auto inputs = oracle_inputs(problem);
  std::vector<double> received(static_cast<size_t>(c.b * c.n * rows.count));
  for (int64_t b = 0; b < c.b; ++b) {
    for (int64_t n = 0; n < c.n; ++n) {
      for (int64_t i = 0; i < c.t; ++i) {
        const auto row =
            oracle::attention_row(inputs, static_cast<size_t>(b), static_cast<size_t>(n), static_cast<size_t>(i));
        for (int64_t g = 0; g < rows.count; ++g)
          received[static_cast<size_t>((b * c.n + n) * rows.count + g)] += row.p[static_cast<size_t>(rows.first + g)];
      }
    }
  }
  return received;
}

void expect_received(const AttentionCase& c, const Rows& rows) {
  SCOPED_TRACE(text_of(c));
  const AttentionProblem problem(c);
  const TestTensor received = received_of(problem, rows);
  expect_close("received", received.view(), expected_of(problem, rows), kReduction);
}

// Of queries and keys in one tile and in several, cut off anywhere, with all terms that scores have.
TEST(RelativeAttentionReceived, EqualsTheOracleForAllLengths) {
  for (const int64_t t : {1, 70, 130}) {
    for (const Rows& rows : {Rows{0, 1}, Rows{7, 3}, Rows{30, 97}, Rows{63, 68}}) {
      const AttentionCase c{.b = 1, .t = t, .m = 131, .n = 2, .h = 16};
      for (const AttentionCase& each : of_all_terms(c)) expect_received(each, rows);
    }
  }
}

TEST(RelativeAttentionReceived, EqualsTheOracleForAllHeadWidths) {
  for (const int64_t h : {1, 8, 31, 64, 100, 128, 200, 256}) {
    if (h > widest_head()) continue;
    for (const AttentionCase& each : of_all_terms({.b = 2, .t = 37, .m = 50, .n = 1, .h = h}))
      expect_received(each, {9, 35});
  }
}

TEST(RelativeAttentionReceived, EqualsTheOracleForClampedDistances) {
  expect_received({.b = 2, .t = 40, .m = 90, .n = 2, .h = 24, .p = 33}, {5, 80});
  expect_received({.b = 2, .t = 40, .m = 90, .n = 2, .h = 24, .p = 1, .has_biases = false}, {0, 90});
}

// Rows outside a window, or before a query's document, receive nothing of it.
TEST(RelativeAttentionReceived, EqualsTheOracleWhereQueriesDoNotSeeAll) {
  for (const AttentionCase& each : of_all_terms({.b = 2, .t = 80, .m = 100, .n = 2, .h = 16, .window = 90}))
    expect_received(each, {3, 90});
  for (const AttentionCase& each : of_all_terms({.b = 3, .t = 80, .m = 100, .n = 2, .h = 16, .document = 60}))
    expect_received(each, {3, 90});
  expect_received({.b = 2, .t = 80, .m = 100, .n = 2, .h = 16, .has_distances = false, .ahead = true}, {3, 90});
  expect_received({.b = 3, .t = 80, .m = 100, .n = 2, .h = 16, .has_distances = false, .document = 60, .ahead = true},
                  {3, 90});
}

TEST(RelativeAttentionReceived, OfRowsThatNobodySeesIsZero) {
  const AttentionProblem problem({.b = 2, .t = 9, .m = 100, .n = 2, .h = 16, .window = 20});
  const TestTensor received = received_of(problem, {0, 80});
  for (const double each : values(received)) EXPECT_EQ(each, 0.0);
}

TEST(RelativeAttentionReceived, KnowsNoDropout) {
  AttentionCase c{.b = 2, .t = 40, .m = 70, .n = 2, .h = 16};
  const TestTensor without = received_of(AttentionProblem(c), {10, 50});
  c.dropatt = 0.5F;
  const TestTensor with = received_of(AttentionProblem(c), {10, 50});
  expect_identical("received", with.view(), without.view());
}

TEST(RelativeAttentionReceived, AddsToWhatWasBefore) {
  const AttentionProblem problem({.b = 2, .t = 40, .m = 70, .n = 3, .h = 16});
  const Rows rows{10, 50};
  const TestTensor before = random_tensor({2, 3, 50}, 21);
  const TestTensor received = received_of(problem, rows, before.view());
  const std::vector<double> expected = oracle::sum_of(values(before), expected_of(problem, rows));
  expect_close("received", received.view(), expected, kReduction);
}

// With weights of bfloat16 inputs, which are summed up unrounded.
TEST(RelativeAttentionReceived, InBFloat16EqualsTheOracleOfRoundedInputs) {
  for (const int64_t h : {16, 64, 128}) {
    for (const AttentionCase& each :
         of_all_terms({.b = 2, .t = 100, .m = 131, .n = 2, .h = h, .dtype = DType::kBFloat16})) {
      SCOPED_TRACE(text_of(each));
      const AttentionProblem problem(each);
      const TestTensor received = received_of(problem, {30, 97});
      expect_close("received", received.view(), expected_of(problem, {30, 97}), {.relative = 0.02});
    }
  }
}

TEST(RelativeAttentionReceived, ThreadsDoNotChangeABit) {
  const AttentionProblem problem({.b = 3, .t = 130, .m = 140, .n = 3, .h = 32});
  const TestTensor once = received_of(problem, {7, 120}, {}, 1);
  for (const int threads : {2, 3}) {
    const TestTensor received = received_of(problem, {7, 120}, {}, threads);
    expect_identical("received", received.view(), once.view());
  }
}

TEST(RelativeAttentionReceived, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  const AttentionProblem problem({.b = 1, .t = 4, .m = 6, .n = 2, .h = 8});
  TestTensor lse(DType::kFloat32, {1, 2, 4}), received(DType::kFloat32, {1, 2, 3});
  const auto refused = [&](int64_t first_key, ConstTensorView before, TensorView to,
                           const std::vector<std::string>& words) {
    const RelativeAttentionReceived args{
        .inputs = inputs_of(problem), .lse = lse.view(), .first_key = first_key, .before = before, .received = to};
    expect_contract_error([&] { relative_attention_received(queue, args); }, words);
  };
  refused(4, {}, received.view(), {"first_key", "3 rows of 6"});
  refused(-1, {}, received.view(), {"first_key", "3 rows of 6"});
  refused(0, {}, lse.view().reshaped({1, 4, 2}), {"received", "[1, 4, 2]"});
  refused(0, lse.view(), received.view(), {"before", "[1, 2, 3]"});
  refused(0, received.view(), received.view(), {"received", "before"});
}

}  // namespace

}  // namespace segue::kernels

// Relative attention with activations in bfloat16 against the oracle on the same rounded inputs.
#include "tests/kernels/bfloat16.h"
#include "tests/kernels/patterns.h"
#include "tests/kernels/relative_attention_problem.h"
#include "tests/kernels/unfused_relative_attention.h"

namespace segue::kernels {

namespace {

void expect_near_as_unfused(AttentionCase c) {
  c.dtype = DType::kBFloat16;
  SCOPED_TRACE(text_of(c));
  const AttentionProblem problem(c);
  const AttentionSolution found = solve(problem);
  const AttentionResults expected = oracle_results(problem);
  const AttentionResults naive = UnfusedSolution(problem).results();
  for (const auto& [name, view] : found.results()) {
    if (name == "lse" || view.empty()) continue;
    const double factor = name == "output" ? kBFloat16Output : kBFloat16Gradient;
    expect_near_as_naive(name, view, expected.at(name), naive.at(name), factor);
  }
}

TEST(RelativeAttentionInBFloat16, IsAsNearAsTheNaivePath) {
  for (const int64_t h : {8, 31, 41, 64, 128}) expect_near_as_unfused({.t = 70, .m = 67, .h = h});
  expect_near_as_unfused({.b = 2, .t = 65, .m = 0, .n = 2, .h = 32, .dropatt = 0.3F});
  expect_near_as_unfused({.b = 2, .t = 33, .m = 131, .n = 2, .h = 16, .p = 60, .window = 90, .dropatt = 0.3F});
  expect_near_as_unfused({.b = 2, .t = 150, .m = 67, .n = 2, .h = 64, .dropatt = 0.3F, .document = 50});
  for (const Pattern& pattern : {scattered(), every_other_block()}) {
    for (const int64_t document : {0, 60})
      expect_near_as_unfused(
          {.b = 2, .t = 150, .m = 67, .n = 2, .h = 24, .dropatt = 0.3F, .pattern = pattern, .document = document});
  }
  for (const int64_t h : {8, 64, 128}) {
    expect_near_as_unfused(
        {.b = 2, .t = 70, .m = 67, .n = 2, .h = h, .window = 90, .dropatt = 0.3F, .has_distances = false, .e = 137});
    expect_near_as_unfused(with_gains({.b = 2, .t = 70, .m = 67, .n = 2, .h = h, .window = 90, .dropatt = 0.3F}, 137));
    expect_near_as_unfused({.b = 2,
                            .t = 140,
                            .m = 67,
                            .n = 2,
                            .h = h,
                            .dropatt = 0.3F,
                            .has_distances = false,
                            .document = 60,
                            .ahead = true});
  }
}

TEST(RelativeAttentionInBFloat16, WithoutDistancesEqualsRowsOfZeros) {
  for (const int64_t h : {16, 64, 128}) {
    AttentionCase c{.b = 2, .t = 70, .m = 67, .n = 2, .h = h, .window = 90, .dropatt = 0.3F, .dtype = DType::kBFloat16};
    AttentionProblem zeros(c);
    std::fill_n(zeros.r.as<BFloat16>(), zeros.r.shape().elements(), BFloat16(0.0F));
    std::fill_n(zeros.w.as<float>(), zeros.w.shape().elements(), 0.0F);
    const AttentionSolution expected = solve(zeros);
    c.has_distances = false;
    const AttentionSolution found = solve(AttentionProblem(c));
    const auto views = expected.results();
    size_t i = 0;
    for (const auto& [name, view] : found.results()) {
      if (!view.empty()) expect_identical(name, view, views[i].second);
      ++i;
    }
  }
}

}  // namespace

}  // namespace segue::kernels

// The workspace of relative attention's backward: its size, and that results do not depend on how much there is.
#include "kernels/relative_attention.h"
#include "tests/kernels/patterns.h"
#include "tests/kernels/relative_attention_checks.h"

namespace segue::kernels {

namespace {

// With a workspace for `score_bytes` that begins `misplaced` floats behind where tensors do.
AttentionSolution solve_within(const AttentionProblem& x, int64_t score_bytes, int64_t misplaced = 0) {
  AttentionSolution y(x.extents);
  const int64_t elements = attention_workspace(x.extents, test_device().kind, score_bytes);
  y.workspace = filled_tensor({misplaced + elements}, kNaNOfAnyDType);
  Queue queue(test_device(), 2);
  relative_attention_forward(queue, forward_args(x, y));
  RelativeAttentionBackward backward = backward_args(x, y);
  backward.workspace = y.workspace.view().rows(misplaced, elements);
  backward.score_bytes = score_bytes;
  relative_attention_backward(queue, backward);
  return y;
}

// What the gradients of a head's scores take on a GPU, whose tiles are of 32 float32 or 64 bfloat16.
int64_t score_bytes_of_head(const AttentionCase& c) {
  const int64_t tile = c.dtype == DType::kFloat32 ? 32 : 64;
  const auto whole = [tile](int64_t rows) { return (rows + tile - 1) / tile * tile; };
  return whole(c.t) * whole(c.keys()) * bytes_of(c.dtype) * (c.has_distances ? 2 : 1);
}

// Heads in runs of one and of two: with one left over, or with two of different streams.
TEST(RelativeAttentionWorkspace, RunsOfHeadsGiveTheSameBits) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const AttentionCase plain{.b = 1, .t = 70, .m = 67, .n = 3, .h = 16, .dropatt = 0.3F, .dtype = dtype};
    std::vector<AttentionCase> cases = of_all_terms(plain);
    cases.push_back(plain);
    cases.back().window = 40;
    cases.push_back(plain);
    cases.back().pattern = scattered();
    cases.back().document = 30;
    cases.push_back(plain);
    cases.back().b = 2;
    for (const AttentionCase& c : cases) {
      SCOPED_TRACE(text_of(c));
      const AttentionProblem problem(c);
      const AttentionSolution at_once = solve(problem);
      for (const int64_t heads : {0, 2}) expect_same(solve_within(problem, heads * score_bytes_of_head(c)), at_once);
    }
  }
}

TEST(RelativeAttentionWorkspace, MayBeginAtAnyFloat) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const AttentionProblem problem({.b = 1, .t = 33, .m = 67, .n = 2, .h = 32, .dtype = dtype});
    const AttentionSolution aligned = solve(problem);
    for (const int64_t misplaced : {1, 2, 3}) expect_same(solve_within(problem, kScoreBytes, misplaced), aligned);
  }
}

// It is made for the longest memory, and used while that grows.
TEST(RelativeAttentionWorkspace, DoesNotShrinkAsKeysGrow) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const int64_t score_bytes : {int64_t{0}, int64_t{50'000}, int64_t{200'000}, kScoreBytes}) {
      AttentionCase c{.b = 2, .t = 64, .n = 3, .h = 16, .dtype = dtype};
      for (int64_t before = 0; c.m < 700; ++c.m) {
        const int64_t elements = attention_workspace(c, test_device().kind, score_bytes);
        EXPECT_GE(elements, before) << "M " << c.m;
        before = elements;
      }
    }
  }
}

// Nor does it hold more of the scores than it may, unless a head needs more.
TEST(RelativeAttentionWorkspace, HoldsTheScoresOfSomeHeads) {
  const AttentionCase c{.b = 16, .t = 512, .m = 512, .n = 8, .h = 64, .dtype = DType::kBFloat16};
  const auto bytes = [&](int64_t score_bytes) {
    return attention_workspace(c, test_device().kind, score_bytes) * bytes_of(DType::kFloat32);
  };
  const int64_t of_head = on_cpu() ? 0 : score_bytes_of_head(c);
  EXPECT_EQ(bytes(0), bytes(of_head));
  EXPECT_EQ(bytes(3 * of_head) - bytes(of_head), 2 * of_head);
  EXPECT_EQ(bytes(1000 * of_head) - bytes(of_head), (c.b * c.n - 1) * of_head);
}

}  // namespace

}  // namespace segue::kernels

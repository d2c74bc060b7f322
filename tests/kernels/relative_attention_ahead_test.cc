// Relative attention whose queries see keys after their own: as far as the segment, or their document in it.
#include "kernels/relative_attention.h"
#include "tests/kernels/patterns.h"
#include "tests/kernels/relative_attention_checks.h"

namespace segue::kernels {

namespace {

AttentionCase looking_ahead(AttentionCase c) {
  c.has_distances = false;
  c.dropatt = 0.3F;
  c.ahead = true;
  return c;
}

TEST(RelativeAttentionAhead, EqualsOracle) {
  for (const int64_t document : {0, 9, 60}) {
    for (const auto& [t, m] : {std::pair<int64_t, int64_t>{1, 130}, {33, 97}, {131, 0}, {150, 131}}) {
      for (const int64_t window : {0, 60})
        expect_oracle(looking_ahead({.b = 2, .t = t, .m = m, .n = 2, .h = 16, .window = window, .document = document}));
    }
    for (const Pattern& pattern : {everything(), every_other_block(), scattered()})
      expect_oracle(
          looking_ahead({.b = 2, .t = 150, .m = 101, .n = 2, .h = 16, .pattern = pattern, .document = document}));
  }
}

TEST(RelativeAttentionAhead, EqualsOracleForAllWidths) {
  for (const int64_t h : {8, 41, 80, 200, 256}) {
    if (h > widest_head()) continue;
    for (const int64_t document : {0, 50})
      expect_oracle(looking_ahead({.b = 1, .t = 130, .m = 64, .n = 2, .h = h, .document = document}));
  }
}

// Where no query has a key ahead, nothing changes; where a schedule lists all keys, neither.
TEST(RelativeAttentionAhead, SaysTheSameInOtherWordsToTheBit) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    AttentionCase c = looking_ahead({.b = 2, .t = 90, .m = 101, .n = 2, .h = 40, .dtype = dtype});
    const AttentionSolution ahead = solve(AttentionProblem(c));
    c.pattern = everything();
    expect_same(solve(AttentionProblem(c)), ahead);

    const auto without = [](const AttentionCase& of) {
      AttentionProblem problem(of);
      std::fill_n(problem.ahead.as<int32_t>(), of.b * of.t, 0);
      return solve(problem);
    };
    AttentionCase causal = c;
    causal.pattern = {};
    causal.ahead = false;
    const AttentionSolution expected = solve(AttentionProblem(causal));
    expect_same(without(c), expected);
    c.pattern = {};
    expect_same(without(c), expected);
  }
}

TEST(RelativeAttentionAhead, ThreadsDoNotChangeABit) {
  const AttentionProblem problem(looking_ahead({.b = 2, .t = 100, .m = 40, .n = 2, .h = 33, .document = 40}));
  const AttentionSolution alone = solve(problem, 1);
  for (const int threads : {2, 3, 8}) expect_same(solve(problem, threads), alone);
}

TEST(RelativeAttentionAhead, InformationEndsAtTheDocumentToTheBit) {
  const AttentionCase c{.t = 100, .m = 70, .h = 16, .has_distances = false, .document = 30, .ahead = true};
  const std::vector<KeysOfDocument> documents = keys_of_documents(c);
  for (const int64_t key : {0, 5, 40, 69, 70, 71, 100, 134, 169}) {
    const std::vector<bool> touched = queries_touched(c, key);
    for (int64_t i = 0; i < c.t; ++i) {
      const KeysOfDocument& own = documents[static_cast<size_t>(i)];
      const bool sees =
          key >= own.first && key < own.end && own.first + 1 < own.end;  // a single key has all the weight
      EXPECT_EQ(touched[static_cast<size_t>(i)], sees) << "key " << key << " query " << i;
    }
  }
}

}  // namespace

}  // namespace segue::kernels

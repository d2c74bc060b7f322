// Relative attention whose queries do not see beyond their documents.
#include "kernels/relative_attention.h"
#include "tests/kernels/patterns.h"
#include "tests/kernels/relative_attention_checks.h"

namespace segue::kernels {

namespace {

TEST(RelativeAttentionInDocuments, EqualsOracle) {
  for (const int64_t document : {1, 9, 60}) {
    for (const auto& [t, m] : {std::pair<int64_t, int64_t>{1, 130}, {33, 97}, {131, 0}, {150, 131}}) {
      for (const int64_t window : {0, 60})
        expect_oracle(
            {.b = 2, .t = t, .m = m, .n = 2, .h = 16, .window = window, .dropatt = 0.3F, .document = document});
    }
    const AttentionCase plain{.b = 2, .t = 100, .m = 64, .n = 2, .h = 16, .dropatt = 0.3F, .document = document};
    for (AttentionCase c : of_all_terms(plain)) {
      expect_oracle(c);
      for (const Pattern& pattern : {everything(), every_other_block(), scattered()}) {
        c.pattern = pattern;
        expect_oracle(c);
      }
    }
  }
}

TEST(RelativeAttentionInDocuments, EqualsOracleForAllWidths) {
  for (const int64_t h : {8, 41, 80, 200, 256}) {
    if (h > widest_head()) continue;
    const AttentionCase plain{.b = 1, .t = 130, .m = 64, .n = 2, .h = h, .dropatt = 0.3F, .document = 50};
    for (const AttentionCase& c : of_all_terms(plain)) expect_oracle(c);
  }
  for (const int64_t p : {1, 65, 170})
    expect_oracle({.b = 2, .t = 70, .m = 201, .n = 2, .h = 16, .p = p, .dropatt = 0.3F, .document = 60});
}

// A reach beyond all keys leaves everything as it is, and one as far as a window what the window gives, to the bit.
TEST(RelativeAttentionInDocuments, ReachChangesNotABitOfWhatIsInReach) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const int64_t window : {0, 70}) {
      const AttentionCase plain{.t = 90, .m = 101, .n = 2, .h = 40, .window = window, .dropatt = 0.3F, .dtype = dtype};
      for (AttentionCase c : of_all_terms(plain)) {
        SCOPED_TRACE(text_of(c));
        const AttentionSolution without = solve(AttentionProblem(c));
        c.window = 0;
        AttentionProblem problem(c);
        problem.reach = TestTensor(DType::kInt32, {c.b, c.t});
        const int64_t farthest = window == 0 ? c.keys() + 3 : window - 1;
        std::fill_n(problem.reach.as<int32_t>(), c.b * c.t, static_cast<int32_t>(farthest));
        expect_same(solve(problem), without);
      }
    }
  }
}

TEST(RelativeAttentionInDocuments, ThreadsDoNotChangeABit) {
  for (const AttentionCase& c :
       of_all_terms({.b = 2, .t = 100, .m = 40, .n = 2, .h = 33, .dropatt = 0.3F, .document = 40})) {
    const AttentionProblem problem(c);
    const AttentionSolution alone = solve(problem, 1);
    for (const int threads : {2, 3, 8}) expect_same(solve(problem, threads), alone);
  }
}

TEST(RelativeAttentionInDocuments, InformationEndsAtTheDocumentToTheBit) {
  const AttentionCase c{.t = 100, .m = 70, .h = 16, .document = 30};
  const std::vector<KeysOfDocument> documents = keys_of_documents(c);
  for (const int64_t key : {0, 5, 40, 69, 70, 71, 100, 134, 169}) {
    const std::vector<bool> touched = queries_touched(c, key);
    for (int64_t i = 0; i < c.t; ++i) {
      const int64_t first = documents[static_cast<size_t>(i)].first;
      const bool sees = key <= c.m + i && key >= first && first < c.m + i;  // a single key has all the weight
      EXPECT_EQ(touched[static_cast<size_t>(i)], sees) << "key " << key << " query " << i;
    }
  }
}

}  // namespace

}  // namespace segue::kernels

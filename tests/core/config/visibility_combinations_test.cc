// What a visibility, an objective and lengths cannot be together: the message names both keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "core/config/config.h"
#include "core/config/visibility_kind.h"
#include "tests/core/config/error_with.h"

namespace segue {
namespace {

using ::testing::HasSubstr;

TEST(VisibilityCombinations, EveryQuerySeesAKey) {
  const std::string same_length = "model.visibility.same_length=true";
  EXPECT_EQ(error_with({same_length, "model.mem_len=0"}),
            "c: model.mem_len: expected at least 1 with model.visibility.same_length = true and same_length_extra_key "
            "= false, found 0; a query would see no key");
  EXPECT_EQ(error_with({same_length, "evaluation.mem_len=0"}),
            "c: evaluation.mem_len: expected at least 1 with model.visibility.same_length = true and "
            "same_length_extra_key = false, found 0; a query would see no key");
  EXPECT_EQ(error_with({same_length, "evaluation.tgt_len=256"}),
            "c: evaluation.mem_len: expected at least 1 with model.visibility.same_length = true and "
            "same_length_extra_key = false, found 0; a query would see no key");
  EXPECT_EQ(error_with({same_length, "model.mem_len=0", "model.visibility.same_length_extra_key=true"}), "no error");
  EXPECT_EQ(error_with({"model.mem_len=0"}), "no error");
}

TEST(VisibilityCombinations, AWindowFitsIntoTheMemoryThatTrainingHas) {
  const std::string window = R"(model.visibility={"kind": "window", "window": 65})";
  EXPECT_EQ(error_with({window, "model.mem_len=64"}), "no error");
  EXPECT_EQ(error_with({window, "model.mem_len=63"}),
            "c: model.mem_len: expected at least 64, one less than model.visibility.window, with model.visibility.kind "
            "= \"window\", found 63; otherwise early tokens of a segment see fewer keys than late ones");
  EXPECT_THAT(error_with({window, "evaluation.mem_len=8"}), HasSubstr("c: evaluation.mem_len: expected at least 64"));
  EXPECT_THAT(error_with({window, R"(training.stages=[{"until_step": 3, "tgt_len": 8, "mem_len": 0}])"}),
              HasSubstr("c: training.stages[0].mem_len: expected at least 64"));
  EXPECT_THAT(error_with({"model.visibility.window=9"}), HasSubstr("model.visibility.window"));
  EXPECT_THAT(error_with({window, "model.visibility.same_length=true"}), HasSubstr("model.visibility.same_length"));
}

TEST(VisibilityCombinations, TheLongestSpanAndItsRampFitIntoTheMemory) {
  const std::string spans = R"(model.visibility={"kind": "adaptive", "span": 40, "ramp": 25})";
  const std::string rope = "model.position.kind=rope";
  EXPECT_EQ(error_with({spans, rope, "model.mem_len=64"}), "no error");
  EXPECT_EQ(error_with({spans, rope, "model.mem_len=63"}),
            "c: model.mem_len: expected at least 64, one less than model.visibility.span + model.visibility.ramp, with "
            "model.visibility.kind = \"adaptive\", found 63; otherwise early tokens of a segment see fewer keys than "
            "late ones");
  EXPECT_THAT(error_with({spans, rope, "evaluation.mem_len=8"}),
              HasSubstr("c: evaluation.mem_len: expected at least 64"));
  EXPECT_THAT(error_with({"model.visibility.span=40"}), HasSubstr("model.visibility.span"));
  EXPECT_THAT(error_with({spans, rope, "model.visibility.initial=1.5"}), HasSubstr("model.visibility.initial"));
  EXPECT_THAT(error_with({spans, rope, "model.visibility.window=9"}), HasSubstr("model.visibility.window"));
}

TEST(VisibilityCombinations, SpansAreForPositionsThatABiasGoesWith) {
  const std::string spans = R"(model.visibility={"kind": "adaptive"})";
  for (const std::string kind : {"rope", "alibi", "t5", "kerple", "none", "sinusoidal", "learned"})
    EXPECT_EQ(error_with({spans, "model.position.kind=" + kind}), "no error") << kind;
  for (const std::string kind : {"relative", "shaw"})
    EXPECT_EQ(error_with({spans, "model.position.kind=" + kind}),
              R"(c: model.position.kind: expected "sinusoidal" or "learned" or "rope" or "alibi" or "t5" or )"
              R"("kerple" or "none" with model.visibility.kind = "adaptive", found ")" +
                  kind + R"(", which needs rows of distances)");
  EXPECT_THAT(error_with({spans, "model.position.kind=distance_aware"}), HasSubstr("which needs gains by distance"));
  EXPECT_THAT(error_with({R"(model.layers=[{"only": [1], "visibility": {"kind": "adaptive"}}])"}),
              HasSubstr(R"("none" with model.layers[0].visibility.kind = "adaptive", found)"));
}

TEST(VisibilityCombinations, MaskedModelsLookAhead) {
  const auto error_of_masked = [](const std::string& position, const std::string& visibility) {
    return error_with(
        {"model.objective.kind=masked", "model.position.kind=" + position, "model.visibility.kind=" + visibility});
  };
  for (const char* kind : {"rope", "none", "learned"}) EXPECT_EQ(error_of_masked(kind, "full"), "no error");
  for (const std::string kind : {"relative", "shaw", "alibi", "t5", "kerple", "distance_aware"})
    EXPECT_THAT(error_of_masked(kind, "full"),
                HasSubstr("found \"" + kind + "\"; a query also sees keys after its own position"));
  EXPECT_THAT(error_of_masked("rope", "causal"), HasSubstr(R"(c: model.visibility.kind: expected "full" or "sparse")"));
  EXPECT_THAT(error_with({"model.visibility.kind=full"}), HasSubstr("expected a kind that does not look ahead"));
  EXPECT_THAT(
      error_with({"model.objective.kind=masked", "model.objective.random_token_share=0.3"}),
      HasSubstr("random_token_share: expected at most 0.2 with model.objective.mask_token_share = 0.8, found 0.3"));
}

std::string sparse(const std::string& patterns) {
  return R"(model.visibility={"kind": "sparse", "patterns": [)" + patterns + "]}";
}

TEST(VisibilityCombinations, AGlobalStreamSeesAllOfASegment) {
  const std::string stream = "model.global_stream.tokens=4";
  const std::vector<std::string> masked{"model.objective.kind=masked", "model.position.kind=rope",
                                        "model.visibility.kind=full"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), masked.begin(), masked.end());
    return error_with(more);
  };
  EXPECT_EQ(with({stream}), "no error");
  EXPECT_EQ(with({stream, "model.global_stream.projections=own", "model.memory.kind=keys_values"}), "no error");
  EXPECT_EQ(with({"model.global_stream.projections=own"}),
            "c: model.global_stream.projections: expected \"shared\" with model.global_stream.tokens = 0, found "
            "\"own\"");
  EXPECT_EQ(error_with({stream}),
            "c: model.global_stream.tokens: expected 0 with model.objective.kind = \"next_token\", found 4; global "
            "tokens see the whole segment, also what is to be predicted");
  EXPECT_EQ(with({stream, R"(model.memory={"kind": "compressed", "compression": "mean"})"}),
            "c: model.memory.kind: expected \"hidden_states\" or \"keys_values\" with model.global_stream.tokens = 4, "
            "found \"compressed\"");
  EXPECT_EQ(with({stream, "data.document_boundary=a"}),
            "c: data.document_boundary: expected \"\" with model.global_stream.tokens = 4, found \"a\"; global tokens "
            "see the whole segment, even if it holds several documents");
}

TEST(VisibilityCombinations, EveryHeadHasAPattern) {
  const std::string first = R"({"heads": [0, 1], "window": 8})";
  EXPECT_EQ(error_with({sparse(R"({"kind": "strided", "stride": 3})")}), "no error");
  EXPECT_EQ(error_with({sparse(first + R"(, {"kind": "dilated", "heads": [3, 2], "window": 4})")}), "no error");
  EXPECT_EQ(error_with({sparse("")}),
            "c: model.visibility.patterns: expected at least one pattern with model.visibility.kind = \"sparse\", "
            "found an empty list");
  EXPECT_EQ(error_with({sparse(first)}),
            "c: model.visibility.patterns: expected at least one pattern for each of the model.n_head = 4 heads, found "
            "none for head 2");
  EXPECT_EQ(error_with({sparse(R"({"window": 8}, {"kind": "strided", "heads": [4]})")}),
            "c: model.visibility.patterns[1].heads: expected heads below model.n_head = 4, found 4");
  EXPECT_EQ(error_with({sparse(R"({"heads": [0, 1, 0]}, {"window": 8})")}),
            "c: model.visibility.patterns[0].heads: expected each head once, found 0 twice or more");
  EXPECT_EQ(error_with({R"(model.layers=[{"only": [1], "visibility": {"kind": "sparse"}}])"}),
            "c: model.layers[0].visibility.patterns: expected at least one pattern with "
            "model.layers[0].visibility.kind = \"sparse\", found an empty list");
}

TEST(VisibilityCombinations, PatternsReadWhatIsWritten) {
  EXPECT_EQ(error_with({sparse(R"({"window": 8, "stride": 3})")}),
            R"(c: model.visibility.patterns[0].stride: expected 2 with model.visibility.patterns[0].kind = "window" )"
            R"((read by "dilated", "strided"), found 3)");
  EXPECT_THAT(error_with({sparse(R"({"kind": "strided", "window": 3})")}), HasSubstr("patterns[0].window"));
  EXPECT_THAT(error_with({R"(model.visibility={"patterns": [{"window": 8}]})"}), HasSubstr("visibility.patterns"));
  EXPECT_THAT(error_with({sparse(R"({"kind": "dilated", "stride": 0})")}), HasSubstr("patterns[0].stride"));
}

TEST(VisibilityCombinations, PatternsFitIntoTheMemoryThatTrainingHas) {
  const std::string patterns = sparse(R"({"window": 8}, {"kind": "dilated", "window": 33, "stride": 4})");
  EXPECT_EQ(error_with({patterns, "model.mem_len=128"}), "no error");
  EXPECT_EQ(error_with({patterns, "model.mem_len=127"}),
            "c: model.mem_len: expected at least 128, as far back as model.visibility.patterns[1] sees, found 127; "
            "otherwise early tokens of a segment see fewer keys than late ones");
  EXPECT_THAT(error_with({sparse(R"({"window": 8})"), "model.mem_len=6"}),
              HasSubstr("expected at least 7, as far back as model.visibility.patterns[0] sees"));
  EXPECT_EQ(error_with({sparse(R"({"kind": "strided", "stride": 200})"), "model.mem_len=1"}), "no error");
}

TEST(VisibilityCombinations, PatternsOfPositionsFitIntoThemselves) {
  EXPECT_EQ(error_with({sparse(R"({"kind": "fixed", "period": 16, "from": 12, "columns": 5})")}),
            "c: model.visibility.patterns[0].columns: expected at most 4, up to the end of period = 16, found 5");
  EXPECT_EQ(error_with({sparse(R"({"kind": "fixed", "period": 16, "from": 16, "columns": 1})")}),
            "c: model.visibility.patterns[0].from: expected less than period = 16, found 16");
  EXPECT_EQ(error_with({sparse(R"({"kind": "fixed", "period": 64})")}), "no error");
  EXPECT_EQ(error_with({sparse(R"({"kind": "global", "period": 16, "columns": 17})")}),
            "c: model.visibility.patterns[0].columns: expected at most 16, up to the end of period = 16, found 17");
  const std::string random = R"({"kind": "random", "block": 8, )";
  EXPECT_EQ(error_with({sparse(random + R"("period": 64, "count": 7, "nearest": 2, "farthest": 8})")}), "no error");
  EXPECT_EQ(error_with({sparse(random + R"("period": 20})")}),
            "c: model.visibility.patterns[0].period: expected a multiple of block = 8, found 20");
  EXPECT_EQ(error_with({sparse(random + R"("period": 64, "nearest": 9})")}),
            "c: model.visibility.patterns[0].nearest: expected at most farthest = 8, found 9");
  EXPECT_EQ(error_with({sparse(random + R"("period": 64, "count": 8})")}),
            "c: model.visibility.patterns[0].count: expected at most 7, the number of blocks from nearest to farthest, "
            "found 8");
}

TEST(VisibilityCombinations, PatternsOfPositionsFitIntoTheMemoryThatTrainingHas) {
  const auto error = [](const std::string& pattern, int64_t mem_len) {
    return error_with({sparse(pattern), fmt::format("model.mem_len={}", mem_len)});
  };
  const std::string blocks = R"({"kind": "blocks", "block": 32, "before": 40})";
  EXPECT_EQ(error(blocks, 40), "no error");
  EXPECT_THAT(error(blocks, 39), HasSubstr("c: model.mem_len: expected at least 40, as far back as"));
  const std::string shifted = R"({"kind": "blockwise", "block": 32, "shift": 2})";
  EXPECT_EQ(error(shifted, 64), "no error");
  EXPECT_THAT(error(shifted, 63), HasSubstr("c: model.mem_len: expected at least 64, as far back as"));
  const std::string random = R"({"kind": "random", "block": 16, "period": 64, "farthest": 5})";
  EXPECT_EQ(error(random, 80), "no error");
  EXPECT_THAT(error(random, 79), HasSubstr("c: model.mem_len: expected at least 80, as far back as"));
  EXPECT_EQ(error(R"({"kind": "fixed"}, {"kind": "global"})", 0), "no error");
}

TEST(VisibilityCombinations, SegmentsHaveWholePeriods) {
  const std::string blocks = sparse(R"({"window": 8}, {"kind": "blocks", "block": 48, "before": 0})");
  EXPECT_EQ(error_with({blocks, "training.tgt_len=96"}), "no error");
  EXPECT_EQ(error_with({blocks, "training.tgt_len=100"}),
            "c: training.tgt_len: expected a multiple of model.visibility.patterns[1].block = 48, found 100");
  EXPECT_EQ(error_with({blocks, "training.tgt_len=96", "evaluation.tgt_len=32"}),
            "c: evaluation.tgt_len: expected a multiple of model.visibility.patterns[1].block = 48, found 32");
  EXPECT_EQ(error_with(
                {blocks, "training.tgt_len=96", R"(training.stages=[{"until_step": 5, "tgt_len": 72, "mem_len": 7}])"}),
            "c: training.stages[0].tgt_len: expected a multiple of model.visibility.patterns[1].block = 48, found 72");
  EXPECT_EQ(
      error_with({R"(model.layers=[{"only": [1], "visibility": {"kind": "sparse", "patterns": [{"kind": "fixed", )"
                  R"("period": 96}]}}])"}),
      "c: training.tgt_len: expected a multiple of model.layers[0].visibility.patterns[0].period = 96, found 128");
  ModelConfig model;
  model.visibility = {.kind = VisibilityKind::kSparse, .patterns = {{.kind = PatternKind::kGlobal, .period = 48}}};
  EXPECT_EQ(message_of<ConfigError>([&] { check_use(model, use_of(model), 64, "u"); }),
            "u: tgt_len: expected a multiple of model.visibility.patterns[0].period = 48, found 64");
}

// What an evaluation remembers less of is its own affair.
TEST(VisibilityCombinations, AnEvaluationMayHaveLessMemoryThanAWindow) {
  const ModelConfig model = {.visibility = {.kind = VisibilityKind::kWindow, .window = 65}};
  ModelUse use = use_of(model);
  EXPECT_EQ(use.window, 65);
  use.mem_len = 8;
  check_use(model, use, 8, "u");
  use.same_length = true;
  EXPECT_THAT(message_of<ConfigError>([&] { check_use(model, use, 8, "u"); }),
              HasSubstr("u: model.visibility.same_length"));
}

}  // namespace
}  // namespace segue

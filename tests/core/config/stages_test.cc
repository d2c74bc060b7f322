// What stages of training say beside lengths: how much they see of windows, and what becomes of the learning rate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/config/layers.h"
#include "core/config/score_kind.h"
#include "core/config/visibility_kind.h"
#include "tests/core/config/error_with.h"

namespace segue {
namespace {

using ::testing::HasSubstr;

// Of one stage that says this beside its lengths.
std::string stage_of(const std::string& more, int64_t mem_len = 64) {
  return R"(training.stages=[{"until_step": 3, "tgt_len": 8, "mem_len": )" + std::to_string(mem_len) + ", " + more +
         "}]";
}

std::string error_of(const std::string& visibility, const std::string& stage,
                     const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides{"model.visibility=" + visibility, "model.mem_len=64", stage};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return error_with(overrides);
}

const std::string kWindow = R"({"kind": "window", "window": 65})";
const std::string kPatterns = R"({"kind": "sparse", "patterns": [{"kind": "window", "window": 16},
                                 {"kind": "dilated", "heads": [0], "window": 17, "stride": 4}]})";
constexpr const char* kHalf = R"("window_share": 0.5)";

TEST(Stages, SeeAShareOfWindows) {
  EXPECT_EQ(error_of(kWindow, stage_of(kHalf)), "no error");
  EXPECT_EQ(error_of(kPatterns, stage_of(kHalf)), "no error");
  EXPECT_EQ(error_of("{}", stage_of(kHalf), {R"(model.layers=[{"only": [1], "visibility": )" + kWindow + "}]"}),
            "no error");
  EXPECT_EQ(error_of(kPatterns, stage_of(kHalf), {"model.objective.kind=masked", "model.position.kind=rope"}),
            "no error");
  EXPECT_EQ(error_of("{}", stage_of(R"("window_share": 1)")), "no error");
  for (const std::string share : {"0", "-0.5", "1.5"})
    EXPECT_THAT(error_of(kWindow, stage_of("\"window_share\": " + share)),
                HasSubstr("training.stages[0].window_share: expected a number"));
}

TEST(Stages, SeeAShareOfNothingElse) {
  const std::string refused =
      "c: training.stages[0].window_share: expected 1, found 0.5; it makes no window smaller. It changes those of "
      "visibility.kind = \"window\" and of patterns of kind \"window\" or \"dilated\"";
  EXPECT_EQ(error_of("{}", stage_of(kHalf)), refused);
  EXPECT_EQ(error_of(R"({"same_length": true})", stage_of(kHalf)), refused);
  EXPECT_EQ(error_of(R"({"kind": "adaptive", "span": 8, "ramp": 8})", stage_of(kHalf), {"model.position.kind=rope"}),
            refused);
  EXPECT_EQ(error_of(R"({"kind": "sparse", "patterns": [{"kind": "strided", "stride": 4}]})", stage_of(kHalf)),
            refused);
  EXPECT_EQ(error_of(R"({"kind": "window", "window": 1})", stage_of(kHalf)), refused);  // one key is the least
}

// In a stage, the memory is as long as its windows are.
TEST(Stages, RememberAsMuchAsTheySee) {
  EXPECT_EQ(error_of(kWindow, stage_of(kHalf, 32)), "no error");
  EXPECT_EQ(error_of(kWindow, stage_of(kHalf, 31)),
            "c: training.stages[0].mem_len: expected at least 32, one less than model.visibility.window with a "
            "window_share of 0.5, with model.visibility.kind = \"window\", found 31; otherwise early tokens of a "
            "segment see fewer keys than late ones");
  EXPECT_EQ(error_of(kPatterns, stage_of(kHalf, 32)), "no error");
  EXPECT_EQ(error_of(kPatterns, stage_of(kHalf, 31)),
            "c: training.stages[0].mem_len: expected at least 32, as far back as model.visibility.patterns[1] sees "
            "with a window_share of 0.5, found 31; otherwise early tokens of a segment see fewer keys than late ones");
}

TEST(Stages, NarrowWindowsToTheNearestKey) {
  ModelConfig model;
  model.visibility = {.kind = VisibilityKind::kWindow, .window = 65};
  model.layers = {{.only = {1},
                   .visibility = VisibilityConfig{.kind = VisibilityKind::kSparse,
                                                  .patterns = {{.window = 3},
                                                               {.kind = PatternKind::kDilated, .window = 10},
                                                               {.kind = PatternKind::kBlocks, .before = 8}}}},
                  {.only = {2}, .visibility = VisibilityConfig{.kind = VisibilityKind::kAdaptive, .span = 20}},
                  {.only = {3}, .score = ScoreConfig{.kind = ScoreKind::kState}}};
  const ModelUse use = use_of(model);
  const auto window = [&](int64_t layer, double share) { return use_of_layer(model, use, layer, share).window; };
  EXPECT_EQ(window(0, 1.0), 65);
  EXPECT_EQ(window(0, 0.25), 16);
  EXPECT_EQ(window(0, 0.5), 33);
  EXPECT_EQ(window(0, 1e-9), 1);
  EXPECT_EQ(window(2, 0.5), 20 + 32);
  const std::vector<PatternConfig> patterns = use_of_layer(model, use, 1, 0.25).patterns;
  EXPECT_EQ(patterns[0].window, 1);
  EXPECT_EQ(patterns[1].window, 3);
  EXPECT_EQ(patterns[2], model.layers[0].visibility->patterns[2]);

  const ModelConfig small = narrowed(model, 0.25);
  for (int64_t layer = 0; layer < model.n_layer - 1; ++layer)
    EXPECT_EQ(use_of_layer(small, use_of(small), layer), use_of_layer(model, use, layer, 0.25)) << layer;
}

TEST(Stages, MultiplyTheLearningRate) {
  EXPECT_EQ(error_of("{}", stage_of(R"("lr_factor": 16)")), "no error");
  for (const std::string factor : {"0", "-1", "1001"})
    EXPECT_THAT(error_of("{}", stage_of("\"lr_factor\": " + factor)),
                HasSubstr("training.stages[0].lr_factor: expected a number"));
  const Config config = parse_config(
      R"({"data": {"path": "d"}, "training": {"max_step": 9, "stages": [
            {"until_step": 3, "tgt_len": 8, "mem_len": 0, "lr_factor": 4},
            {"until_step": 5, "tgt_len": 8, "mem_len": 0}, {"until_step": 7, "tgt_len": 8, "mem_len": 8, "lr_factor": 0.5}]}})",
      "c");
  std::vector<double> factors;
  for (int64_t step = 1; step <= 9; ++step) factors.push_back(lr_factor_at(config, step));
  EXPECT_THAT(factors, testing::ElementsAre(4, 4, 4, 1, 1, 0.5, 0.5, 1, 1));
}

}  // namespace
}  // namespace segue

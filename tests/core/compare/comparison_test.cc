// What a comparison's file asks for: its runs, what they may spend, and what makes a comparison unfair.
#include "core/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "core/config/position_kind.h"
#include "core/config/visibility_kind.h"
#include "tests/message_of.h"
#include "tests/source_directory.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::HasSubstr;

constexpr int64_t kVocabulary = 32;

class ComparisonTest : public ::testing::Test {
 protected:
  ComparisonTest() {
    write_file_atomically(directory_ / "base.json", R"({"data": {"path": "tokens"},
      "model": {"n_layer": 1, "n_head": 1, "d_model": 8, "d_head": 8, "d_inner": 16, "mem_len": 16},
      "training": {"batch_size": 4, "tgt_len": 8}})");
  }
  // Of variants with memory and without, unless said otherwise.
  Comparison load(const std::string& rest = "", const std::string& variants = kBoth) {
    write_file_atomically(directory_ / "family.json", R"({"base": "base.json", "variants": )" + variants + rest + "}");
    return load_comparison(directory_ / "family.json");
  }
  std::vector<ComparedRun> runs(const Comparison& comparison) { return runs_of(plan(comparison)); }
  ComparisonPlan plan(const Comparison& comparison) {
    return {.comparison = comparison, .base = directory_ / comparison.base, .source = "f", .vocab_size = kVocabulary};
  }
  template <typename Work>
  std::string error_of(const Work& work) {
    return message_of<ConfigError>(work);
  }

  static constexpr const char* kBoth =
      R"([{"name": "memory"}, {"name": "none", "set": ["model.mem_len=0", "evaluation.mem_len=0"]}])";
  static constexpr const char* kTokens = R"(, "budget": {"amount": 1000})";
  TemporaryDirectory directory_;
};

TEST_F(ComparisonTest, TrainsEveryVariantFromEverySeed) {
  const Comparison comparison =
      load(R"(, "budget": {"amount": 1000}, "seeds": [7, 3], "may_differ": ["evaluation.mem_len"])");
  const std::vector<ComparedRun> all = runs(comparison);
  std::vector<std::string> directories;
  for (const ComparedRun& run : all) {
    directories.push_back(run.directory().string());
    EXPECT_EQ(run.config.seed, run.seed);
    EXPECT_EQ(run.config.model.mem_len, run.variant == "none" ? 0 : 16);
    EXPECT_EQ(run.config.training.max_step, 31);  // of 32 tokens each
  }
  EXPECT_THAT(directories, testing::ElementsAre("runs/memory-7", "runs/none-7", "runs/memory-3", "runs/none-3"));
}

TEST_F(ComparisonTest, OverridesOfTheBaseAreOfAllVariantsThatDoNotSayOtherwise) {
  ComparisonPlan changed =
      plan(load(R"(, "budget": {"amount": 1000}, "seeds": [7], "may_differ": ["evaluation.mem_len"])"));
  changed.set = {"model.mem_len=24", "model.d_model=16"};
  const std::vector<ComparedRun> all = runs_of(changed);
  EXPECT_EQ(all[0].config.model.mem_len, 24);
  EXPECT_EQ(all[1].config.model.mem_len, 0);
  EXPECT_EQ(all[1].config.model.d_model, 16);
  changed.set = {"optimizer.lr=0.1"};
  EXPECT_EQ(runs_of(changed)[0].config.optimizer.lr, 0.1);
  changed.comparison.learning_rates = {0.001, 0.02};
  EXPECT_EQ(error_of([&] { runs_of(changed); }),
            "--set: optimizer.lr: expected no such key, found one; learning_rates in f set it");
  changed.set = {"seed=9"};
  EXPECT_EQ(error_of([&] { runs_of(changed); }), "--set: seed: expected no such key, found one; seeds in f set it");
  changed.set = {"training.max_step=9"};
  EXPECT_EQ(error_of([&] { runs_of(changed); }),
            "--set: training.max_step: expected no such key, found one; budget in f sets it");
}

TEST_F(ComparisonTest, OperationsPayForMoreStepsWithoutMemory) {
  const BudgetConfig budget{.kind = BudgetKind::kFlops, .amount = 1e8};
  Config config;
  config.model = {.n_layer = 1, .n_head = 1, .d_model = 8, .d_head = 8, .d_inner = 16, .mem_len = 64};
  config.training = {.batch_size = 4, .tgt_len = 8};
  const int64_t with_memory = steps_within(budget, config, kVocabulary);
  config.model.mem_len = 0;
  EXPECT_GT(steps_within(budget, config, kVocabulary), with_memory);
  EXPECT_EQ(steps_within({.kind = BudgetKind::kFlops, .amount = 3e8}, config, kVocabulary) / 3,
            steps_within(budget, config, kVocabulary));
}

// 10 steps of 8 tokens, then steps of 32.
TEST_F(ComparisonTest, StagesSpendByTheirLengths) {
  Config config;
  config.training = {.batch_size = 4, .tgt_len = 8, .stages = {{.until_step = 10, .tgt_len = 2, .mem_len = 0}}};
  EXPECT_EQ(steps_within({.amount = 79.0}, config, kVocabulary), 9);
  EXPECT_EQ(steps_within({.amount = 80.0}, config, kVocabulary), 10);
  EXPECT_EQ(steps_within({.amount = 80.0 + 64.0}, config, kVocabulary), 12);
}

// A stage of small windows costs what a model of such windows does, and is timed as one.
TEST_F(ComparisonTest, StagesOfSmallWindowsSpendLess) {
  const BudgetConfig budget{.kind = BudgetKind::kFlops, .amount = 1e8};
  Config config;
  config.model = {.n_layer = 1, .n_head = 1, .d_model = 8, .d_head = 8, .d_inner = 16, .mem_len = 64};
  config.model.visibility = {.kind = VisibilityKind::kWindow, .window = 64};
  config.training = {.batch_size = 4, .tgt_len = 8};
  const auto steps = [&] { return steps_within(budget, config, kVocabulary); };
  const int64_t whole = steps();
  config.model.visibility.window = 8;
  const int64_t small = steps();
  EXPECT_GT(small, whole);
  config.training.stages = {{.until_step = 10000, .tgt_len = 8, .mem_len = 64, .window_share = 0.125}};
  config.model.visibility.window = 64;
  EXPECT_EQ(steps(), small);
  config.training.stages[0].until_step = small / 2;
  EXPECT_LT(steps(), small);
  EXPECT_GT(steps(), whole);

  const std::string variants = R"([{"name": "a"}, {"name": "b", "set": ["model.visibility.window=16",
      "model.visibility.kind=window", "training.stages=[{\"until_step\": 10, \"tgt_len\": 2, \"mem_len\": 3, )"
                               R"(\"window_share\": 0.25, \"lr_factor\": 2}]"]}])";
  const ComparisonPlan seconds = plan(load(R"(, "budget": {"kind": "seconds", "amount": 6}, "seeds": [1])", variants));
  const std::vector<ComparedRun> timings = timings_of(seconds);
  ASSERT_EQ(timings.size(), 3);
  EXPECT_EQ(timings[1].config.model.visibility.window, 4);
  EXPECT_EQ(timings[2].config.model.visibility.window, 16);
}

TEST_F(ComparisonTest, AskedForWhatCannotBeComparedItSaysSo) {
  const auto error = [this](const std::string& rest, const std::string& variants) {
    return error_of([&] { load(rest, variants); });
  };
  EXPECT_THAT(error(kTokens, R"([{"name": "a"}])"), HasSubstr("family.json: variants: expected at least 2, found 1"));
  EXPECT_THAT(error(kTokens, R"([{"name": "a"}, {"name": "a"}])"), HasSubstr(R"(found "a" twice)"));
  EXPECT_THAT(error(kTokens, R"([{"name": "a"}, {"name": "../b"}])"), HasSubstr(R"(found "../b")"));
  EXPECT_THAT(error(R"(, "budget": {"amount": 9}, "seeds": [])", kBoth), HasSubstr("seeds: expected at least 1"));
  EXPECT_THAT(error(R"(, "budget": {"amount": 9}, "seeds": [1, 1])", kBoth), HasSubstr("found 1 twice"));
  EXPECT_THAT(error("", kBoth), HasSubstr("budget"));
  EXPECT_THAT(error(R"(, "budget": {"amount": 9}, "seed": 1)", kBoth), HasSubstr("seed"));
}

TEST_F(ComparisonTest, SweepsLearningRatesFromTheFirstSeed) {
  const std::string variants = R"([{"name": "a"}, {"name": "b"}])";
  const Comparison comparison =
      load(R"(, "budget": {"amount": 1000}, "seeds": [7, 3], "learning_rates": [0.001, 0.02])", variants);
  const auto names = [](const std::vector<ComparedRun>& all) {
    std::vector<std::string> found;
    for (const ComparedRun& run : all) found.push_back(run.name());
    return found;
  };
  const std::vector<ComparedRun> sweep = sweep_of(plan(comparison));
  EXPECT_THAT(names(sweep), testing::ElementsAre("a-0.001-7", "a-0.02-7", "b-0.001-7", "b-0.02-7"));
  EXPECT_EQ(sweep[1].config.optimizer.lr, 0.02);
  const std::vector<double> chosen{0.02, 0.001};
  const std::vector<ComparedRun> found = runs_of(plan(comparison), chosen);
  EXPECT_THAT(names(found), testing::ElementsAre("a-0.02-7", "b-0.001-7", "a-0.02-3", "b-0.001-3"));
  EXPECT_EQ(found[3].config.optimizer.lr, 0.001);
  EXPECT_TRUE(sweep_of(plan(load(kTokens, variants))).empty());
  EXPECT_EQ(error_of([&] {
              const std::string own = R"([{"name": "a"}, {"name": "b", "set": ["optimizer.lr=0.1"]}])";
              runs(load(R"(, "budget": {"amount": 1000}, "learning_rates": [0.001, 0.02])", own));
            }),
            R"(f: variant "b": optimizer.lr: expected no such key, found one; learning_rates set it)");
}

// A variant of stages is timed at each of its lengths.
TEST_F(ComparisonTest, SecondsPayForAsManyStepsAsTheirTimingSays) {
  const std::string variants =
      R"([{"name": "a"}, {"name": "b", "set": ["training.stages=[{\"until_step\": 10, \"tgt_len\": 2, \"mem_len\": 16}]"]}])";
  ComparisonPlan seconds = plan(load(R"(, "budget": {"kind": "seconds", "amount": 6}, "seeds": [1])", variants));
  const std::vector<ComparedRun> timings = timings_of(seconds);
  ASSERT_EQ(timings.size(), 3);
  EXPECT_EQ(timings[1].directory(), "timing/b@1-1111");
  EXPECT_EQ(timings[1].config.training.tgt_len, 2);
  EXPECT_EQ(timings[2].config.training.tgt_len, 8);
  EXPECT_TRUE(timings[2].config.training.stages.empty());
  EXPECT_EQ(filling_steps(timings[1].config), 8);
  EXPECT_GE(timings[1].config.training.max_step, 8 + 40);
  EXPECT_LT(timings[1].config.optimizer.lr, 1e-6);  // nothing diverges while it is timed
  seconds.seconds = {{0.5}, {0.1, 0.5}};
  const std::vector<ComparedRun> timed = runs_of(seconds);
  EXPECT_EQ(timed[0].config.training.max_step, 12);
  EXPECT_EQ(timed[1].config.training.max_step, 20);
}

// The presets are what the comparison's variants make of its base; every kind of position has one.
TEST_F(ComparisonTest, FamilyHasAPresetForEveryVariant) {
  const std::filesystem::path family = source_directory() / "configs" / "family";
  const Comparison comparison = load_comparison(family / "comparison.json");
  std::vector<std::string> presets;
  for (const auto& entry : std::filesystem::directory_iterator(family)) {
    if (entry.is_regular_file() && entry.path().filename() != "comparison.json")
      presets.push_back(entry.path().stem().string());
  }
  std::vector<std::string> variants;
  std::set<std::string_view> positions;
  ComparisonPlan of_family = plan(comparison);
  of_family.base = family / comparison.base;
  for (const ComparedRun& run : runs_of(of_family)) {
    if (run.seed != comparison.seeds.front()) continue;
    Config expected = load_config(family / (run.variant + ".json"));
    expected.seed = run.seed;
    EXPECT_THAT(diff_configs(expected, run.config), testing::IsEmpty()) << run.variant;
    variants.push_back(run.variant);
    positions.insert(name_of_choice(run.config.model.position.kind));
  }
  EXPECT_THAT(variants, testing::UnorderedElementsAreArray(presets));
  EXPECT_THAT(positions, testing::IsSupersetOf(std::vector<std::string_view>(choices_of(PositionKind{}).begin(),
                                                                             choices_of(PositionKind{}).end())));
}

TEST_F(ComparisonTest, UnfairComparisonsAreRefused) {
  const auto error = [this](const std::string& rest, const std::string& variants) {
    return error_of([&] { runs(load(rest, variants)); });
  };
  const std::string other = R"([{"name": "a"}, {"name": "b"}, {"name": "c", "set": ["data.path=more"]}])";
  EXPECT_EQ(
      error(kTokens, other),
      R"(f: variant "c": data.path: expected "tokens" as in variant "a", found "more"; list the key in may_differ )"
      "if variants shall differ in it");
  EXPECT_EQ(error(R"(, "budget": {"amount": 1000}, "may_differ": ["data.path"])", other), "no error");
  EXPECT_THAT(error(kTokens, kBoth), HasSubstr(R"(f: variant "none": evaluation.mem_len)"));
  EXPECT_THAT(error(kTokens, R"([{"name": "a"}, {"name": "b", "set": ["model.objective.kind=masked",
                               "model.visibility.kind=full", "model.position.kind=rope"]}])"),
              HasSubstr(R"(f: variant "b": model.objective.kind: expected "next_token")"));
  EXPECT_THAT(error(kTokens, R"([{"name": "a"}, {"name": "b", "set": ["model.men_len=9"]}])"),
              HasSubstr(R"(f: variant "b": --set model.men_len=9)"));
  EXPECT_EQ(error(R"(, "budget": {"amount": 31})", R"([{"name": "a"}, {"name": "b"}])"),
            R"(f: budget.amount: expected at least 32 tokens, which one step of variant "a" takes, found 31)");
}

}  // namespace
}  // namespace segue

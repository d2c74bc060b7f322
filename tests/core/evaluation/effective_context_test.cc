// Effective context on losses whose answer follows by hand, and the files it is computed from.
#include "core/evaluation/effective_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "core/evaluation/per_token_file.h"
#include "tests/message_of.h"
#include "tests/source_directory.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const std::vector<int64_t> kContexts{100, 200, 300, 400, 500};

// Losses by context of ten tokens: a hard one, four that are less so, five easy ones. Exact in binary.
using Model = std::vector<std::vector<float>>;

Model model_of(const std::vector<float>& hard) {
  const std::vector<float> middle{4.0F, 3.75F, 3.5F, 3.5F, 3.5F};
  const std::vector<float> easy{1.0F, 0.875F, 0.875F, 0.875F, 0.875F};
  Model model;
  for (size_t c = 0; c < kContexts.size(); ++c) {
    std::vector<float> losses(10, easy[c]);
    std::fill_n(losses.begin() + 3, 4, middle[c]);
    losses[8] = hard[c];
    model.push_back(losses);
  }
  return model;
}

const std::vector<float> kSteady{8.0F, 7.0F, 6.0F, 5.0F, 5.0F};

std::vector<std::vector<GainCurve>> curves_of(const std::vector<Model>& models, double threshold) {
  return effective_contexts(models.size(), kContexts,
                            [&](size_t model, size_t context) { return models[model][context]; },
                            {.ratios = {0.1, 0.5, 1.0}, .threshold = threshold});
}

TEST(EffectiveContextTest, IsWhatFollowsByHand) {
  const std::vector<GainCurve> curves = curves_of({model_of(kSteady)}, 0.19).front();
  // The mean loss of the 1, 5 and 10 hardest tokens falls by this with each step.
  constexpr std::array<std::array<double, 4>, 3> kFalls{
      {{1.0, 1.0, 1.0, 0.0}, {0.4, 0.4, 0.2, 0.0}, {0.2625, 0.2, 0.1, 0.0}}};
  const std::vector<int64_t> expected{300, 200, 100};
  for (size_t r = 0; r < curves.size(); ++r) {
    ASSERT_EQ(curves[r].points.size(), 4);
    for (size_t c = 0; c < 4; ++c) {
      EXPECT_EQ(curves[r].points[c].context, kContexts[c]);
      EXPECT_NEAR(curves[r].points[c].gain, 1.0 - std::exp(-kFalls[r][c]), 1e-15) << "ratio " << r << ", step " << c;
    }
    EXPECT_EQ(curves[r].effective_context, expected[r]);
    EXPECT_TRUE(curves[r].ends_within);
  }
}

// Neither gets further than the other already was with less context.
TEST(EffectiveContextTest, IsRelativeToThePool) {
  const auto curves = curves_of({model_of(kSteady), model_of({8.0F, 5.5F, 5.5F, 5.5F, 5.5F})}, 0.19);
  EXPECT_EQ(curves[0][0].points[1].gain, 0.0);
  EXPECT_EQ(curves[0][0].effective_context, 100);
  EXPECT_EQ(curves[1][0].effective_context, 100);
  EXPECT_DOUBLE_EQ(curves[0][0].points[2].gain, 1.0 - std::exp(-0.5));  // of no account behind a step without gain
}

TEST(EffectiveContextTest, SaysWhenContextsEndTooEarly) {
  const auto curves =
      curves_of({model_of({8.0F, 7.0F, 6.0F, 5.0F, 4.0F}), model_of({9.0F, 9.0F, 9.0F, 9.0F, 9.0F})}, 0.19);
  EXPECT_EQ(curves[0][0].effective_context, 400);
  EXPECT_FALSE(curves[0][0].ends_within);
  EXPECT_EQ(curves[1][0].effective_context, 0);
  EXPECT_TRUE(curves[1][0].ends_within);
}

TEST(EffectiveContextTest, RefusesWhatIsNoComparison) {
  const auto none = [](size_t, size_t) { return std::vector<float>{}; };
  const auto attempt = [&](std::vector<int64_t> contexts, const EffectiveContextOptions& options) {
    return message_of<Error>([&] { effective_contexts(1, contexts, none, options); });
  };
  EXPECT_THAT(attempt({100}, {}), testing::HasSubstr("two contexts or more, found 1"));
  EXPECT_THAT(attempt({100, 200}, {.ratios = {1.5}}), testing::HasSubstr("ratios[0]: expected a number > 0 and <= 1"));
  EXPECT_THAT(attempt({100, 200}, {}), testing::HasSubstr("no token is scored in every file"));
}

class PerTokenFilesTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::vector<float>& nll, const std::vector<int32_t>& targets,
                    const PerTokenInfo& info = {}) {
    write_per_token_file(directory_ / name, {.info = info, .nll = nll, .targets = targets});
    return (directory_ / name).string();
  }
  std::string refusal(const std::string& a, const std::string& b) {
    return message_of<DataError>([&] { compare_effective_contexts({{"one", {a, b}}}, {}); });
  }
  TemporaryDirectory directory_;
};

TEST_F(PerTokenFilesTest, ComeBackAsTheyWere) {
  const PerTokenInfo info{.dataset = "xxh3:1",
                          .split = "test",
                          .tokenizer = "word",
                          .tokenizer_checksum = "xxh3:2",
                          .unit = "word",
                          .checkpoint = "runs/one",
                          .context = 30,
                          .mem_len = 20,
                          .tgt_len = 10};
  const PerTokenLosses read = read_per_token_file(write("a.h5", {kNaN, 1.5F, 2.5F}, {7, 8, 9}, info));
  EXPECT_TRUE(std::isnan(read.nll[0]));
  EXPECT_EQ(read.nll[2], 2.5F);
  EXPECT_EQ(read.targets, (std::vector<int32_t>{7, 8, 9}));
  EXPECT_EQ(read.info.tokenizer_checksum, "xxh3:2");
  EXPECT_EQ(read.info.checkpoint, "runs/one");
  EXPECT_EQ(read.info.context, 30);
  EXPECT_EQ(read.info.mem_len, 20);
}

// As h5py 3.16 writes them with HDF5 2.0.0: appendable, packed, with the context as a floating-point number.
TEST_F(PerTokenFilesTest, OfOtherProgramsAreRead) {
  for (const char* name : {"appended", "column"}) {
    const PerTokenLosses losses = read_per_token_file(source_directory() / "tests" / "fuzz" / "per_token_seeds" / name);
    EXPECT_EQ(losses.info.context, 512);
    EXPECT_EQ(losses.info.split, "test");
    EXPECT_EQ(losses.nll.size(), 40U);
    EXPECT_TRUE(std::isnan(losses.nll.front()));
    EXPECT_EQ(losses.nll.back(), 3.0F);
    EXPECT_EQ(losses.targets.back(), 39 * 7 % 31);
  }
}

// Token 1 is scored by one model only; of the others, 2.0 falls to 1.0 for one and to 2.0 for the other.
TEST_F(PerTokenFilesTest, AreComparedWhereAllScore) {
  const std::vector<int32_t> targets{1, 2, 3};
  const std::string a1 = write("a1.h5", {kNaN, 9.0F, 2.0F}, targets, {.context = 10});
  const std::string a2 = write("a2.h5", {kNaN, 8.0F, 1.0F}, targets, {.context = 20});
  const std::string b1 = write("b1.h5", {kNaN, kNaN, 2.0F}, targets) + "@10";
  const std::string b2 = write("b2.h5", {kNaN, kNaN, 2.0F}, targets) + "@20";
  const OrderedJson json = compare_effective_contexts({{"a", {a2, a1}}, {"b", {b1, b2}}}, {.ratios = {1.0}});
  EXPECT_EQ(json["tokens"], 1);
  EXPECT_EQ(json["step"], 10);
  EXPECT_EQ(json["models"][0]["effective_context"]["1.0"], 10);
  EXPECT_EQ(json["models"][1]["effective_context"]["1.0"], 0);
  EXPECT_DOUBLE_EQ(json["models"][0]["curves"][0]["points"][0]["next_loss"].get<double>(), 1.0);
}

TEST_F(PerTokenFilesTest, OfOtherTokensAreRefused) {
  const PerTokenInfo info{.dataset = "xxh3:1", .split = "test", .tokenizer = "word", .context = 10};
  PerTokenInfo other = info;
  other.context = 20;
  const std::string first = write("a.h5", {1.0F, 2.0F}, {1, 2}, info);
  const auto with = [&](auto change) {
    PerTokenInfo changed = other;
    change(changed);
    std::filesystem::remove(directory_ / "b.h5");
    return refusal(first, write("b.h5", {1.0F, 2.0F}, {1, 2}, changed));
  };
  EXPECT_THAT(
      with([](PerTokenInfo& i) { i.dataset = "xxh3:3"; }),
      testing::HasSubstr("b.h5: losses of split test, but " + first + " has those of another split test; only"));
  EXPECT_THAT(with([](PerTokenInfo& i) { i.split = "valid"; }), testing::HasSubstr(R"(split "valid", but)"));
  EXPECT_THAT(with([](PerTokenInfo& i) { i.tokenizer = "byte"; }), testing::HasSubstr(R"(tokenizer "byte", but)"));
  EXPECT_THAT(with([](PerTokenInfo& i) { i.context = 10; }), testing::HasSubstr("both of context 10"));
  EXPECT_THAT(with([](PerTokenInfo& i) { i.context = -1; }), testing::HasSubstr(R"(attribute "context")"));
  EXPECT_THAT(refusal(first, write("c.h5", {1.0F, 2.0F}, {1, 3}, other)),
              testing::HasSubstr("targets[1] is 3, but " + first + " has 2"));
  EXPECT_THAT(refusal(first, write("d.h5", {1.0F}, {1}, other)), testing::HasSubstr("1 tokens, but"));
  EXPECT_THAT(refusal(first, write("e.h5", {1.0F, 2.0F}, {1}, other)), testing::HasSubstr("2 losses and 1 targets"));
  EXPECT_THAT(refusal(first, write("g.h5", {1.0F, std::numeric_limits<float>::infinity()}, {1, 2}, other)),
              testing::HasSubstr("nll[1]: expected a finite loss"));
  EXPECT_THAT(refusal(first, (directory_ / "f.h5").string()), testing::HasSubstr("the file is missing"));
}

TEST_F(PerTokenFilesTest, OfTheSameContextsAreAskedFor) {
  const std::string a1 = write("a1.h5", {1.0F}, {1}) + "@10";
  const std::string a2 = write("a2.h5", {1.0F}, {1}) + "@20";
  const std::string b2 = write("b2.h5", {1.0F}, {1}) + "@30";
  EXPECT_THAT(message_of<DataError>([&] {
                compare_effective_contexts({{"a", {a1, a2}}, {"b", {a1, b2}}}, {});
              }),
              testing::HasSubstr("b: files of contexts 10, 30, but a has 10, 20"));
}

}  // namespace
}  // namespace segue

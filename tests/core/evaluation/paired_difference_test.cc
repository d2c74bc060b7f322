// Paired differences of made-up losses: whose loss is lower, when nothing can be said, and what is no pair.
#include "core/evaluation/paired_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/random.h"
#include "core/evaluation/per_token_file.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::HasSubstr;

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kTokens = 6401;  // of which the first is not scored

class PairedDifferenceTest : public ::testing::Test {
 protected:
  // Losses of one text, whose regions differ much, each `above` it and with noise of its own.
  std::vector<float> losses(double above, uint64_t seed) const {
    std::vector<float> nll(static_cast<size_t>(kTokens), kNotANumber);
    for (size_t i = 1; i < nll.size(); ++i)
      nll[i] = static_cast<float>(3.0 + random_normal({.seed = 1, .step = 0, .site = 1}, i / 100) + above +
                                  0.1 * random_normal({.seed = seed, .step = 0, .site = 2}, i));
    return nll;
  }
  std::filesystem::path write(const std::string& name, const std::vector<float>& nll, const PerTokenInfo& info = {},
                              const std::vector<int32_t>& token_bytes = {}) {
    write_per_token_file(
        directory_ / name,
        {.info = info, .nll = nll, .targets = std::vector<int32_t>(nll.size(), 7), .token_bytes = token_bytes});
    return directory_ / name;
  }
  TemporaryDirectory directory_;
};

TEST_F(PairedDifferenceTest, IsSureWhereMeansAreNot) {
  const OrderedJson json = paired_differences(
      {write("a.h5", losses(0.0, 6)), write("b.h5", losses(0.02, 3)), write("c.h5", losses(0.0, 5))});
  EXPECT_EQ(json["tokens"], kTokens - 1);
  ASSERT_EQ(json["differences"].size(), 3);
  const OrderedJson& ab = json["differences"][0];
  EXPECT_NEAR(ab["loss"].get<double>(), -0.02, 0.006);
  EXPECT_LT(ab["confidence95"].get<double>(), 0.006);
  EXPECT_EQ(ab["lower"], "a");
  EXPECT_GT(json["evaluations"][0]["confidence95"].get<double>(), 0.1);
  EXPECT_TRUE(json["differences"][1]["lower"].is_null()) << json["differences"][1];
  EXPECT_EQ(json["differences"][2]["lower"], "c");
  const std::string text = describe_paired_differences(json);
  EXPECT_THAT(text, HasSubstr("a is lower\na - c"));
  EXPECT_THAT(text, HasSubstr("no difference beyond the interval\nb - c"));
  EXPECT_THAT(text, HasSubstr("the choice of text, not of the"));
}

TEST_F(PairedDifferenceTest, IsInBitsPerByteWhereBytesAreKnown) {
  const auto pair = [&](const PerTokenInfo& info, const std::vector<int32_t>& token_bytes = {}) {
    const auto a = write("a.h5", losses(0.0, 2), info);
    return paired_differences({a, write("b.h5", losses(1.0, 2), info, token_bytes)});  // one of them is enough
  };
  const auto bits = [](const OrderedJson& json) { return json["differences"][0]["bits_per_byte"].get<double>(); };
  EXPECT_NEAR(bits(pair({.unit = "byte"})), -1.0 / std::numbers::ln2, 1e-6);
  const OrderedJson words = pair({.unit = "word"}, std::vector<int32_t>(static_cast<size_t>(kTokens), 4));
  EXPECT_NEAR(bits(words), -0.25 / std::numbers::ln2, 1e-6);
  EXPECT_THAT(describe_paired_differences(words), HasSubstr("bits/byte"));
  const OrderedJson unknown = pair({.unit = "word"});
  EXPECT_FALSE(unknown["differences"][0].contains("bits_per_byte"));
  EXPECT_THAT(describe_paired_differences(unknown), HasSubstr("bits/word"));
}

// The first half of the text has words of one byte, the second of nine; only the first is scored.
TEST_F(PairedDifferenceTest, IsOverTheBytesOfTheScoredTokensAlone) {
  std::vector<float> nll(101, kNotANumber);
  std::vector<int32_t> token_bytes(101, 9);
  for (size_t i = 1; i <= 50; ++i) {
    nll[i] = 2.0F;
    token_bytes[i] = i % 2 == 0 ? 1 : 3;
  }
  const PerTokenInfo info{.unit = "word", .bytes = std::accumulate(token_bytes.begin(), token_bytes.end(), int64_t{0})};
  const auto a = write("a.h5", nll, info, token_bytes);
  for (float& loss : nll) loss += 1.0F;
  const OrderedJson json = paired_differences({a, write("b.h5", nll, info, token_bytes)});
  EXPECT_DOUBLE_EQ(json["tokens_per_byte"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(json["evaluations"][0]["bits_per_byte"].get<double>(), 1.0 / std::numbers::ln2);
  EXPECT_DOUBLE_EQ(json["differences"][0]["bits_per_byte"].get<double>(), -0.5 / std::numbers::ln2);
  token_bytes[7] = 4;
  EXPECT_THAT(message_of<DataError>([&] {
                paired_differences({a, write("c.h5", nll, {}, token_bytes)});
              }),
              HasSubstr("c.h5: token_bytes[7] is 4, but " + a.string() + " has 3"));
}

TEST_F(PairedDifferenceTest, TellsTheShareOfUnknownTokensOfThoseScored) {
  std::vector<float> nll(101, kNotANumber);
  std::fill(nll.begin() + 1, nll.begin() + 81, 1.0F);  // of targets 7, as all are
  const auto a = write("a.h5", nll, {.unit = "word"});
  const auto share_with = [&](int64_t unknown) {
    const auto b = write("b.h5", nll, {.unit = "word", .unknown_token = unknown});
    return paired_differences({a, b}).value("unknown_share", -1.0);
  };
  EXPECT_EQ(share_with(-1), -1.0);
  EXPECT_EQ(share_with(6), 0.0);
  EXPECT_EQ(share_with(7), 1.0);
}

TEST_F(PairedDifferenceTest, HasALineForEveryEvaluationAndPair) {
  const auto a = write("a.h5", {kNotANumber, 1.0F, 2.0F}, {.unit = "byte"});
  const OrderedJson json = paired_differences({a, write("b.h5", {kNotANumber, 1.0F, 1.0F}, {.unit = "byte"})});
  EXPECT_EQ(json["differences"][0]["confidence95"], OrderedJson());  // of two tokens
  const std::string bits_of_half = OrderedJson(0.5 / std::numbers::ln2).dump();
  const std::string csv = paired_differences_csv(json);
  EXPECT_THAT(csv, testing::StartsWith("first,second,tokens,loss,confidence95,bits_per_token,bits_per_byte,"
                                       "bits_per_byte_confidence95\na,,2,1.5,,"));
  EXPECT_THAT(csv, testing::EndsWith("\na,b,2,0.5,," + bits_of_half + "," + bits_of_half + ",\n"));
  EXPECT_THAT(describe_paired_differences(json), HasSubstr("too few tokens to tell"));
}

// Of 64 answers a has all right and b three of four.
TEST_F(PairedDifferenceTest, TellsRightAnswersWhereBothDo) {
  constexpr size_t kAnswers = 64;
  const auto write_answers = [&](const std::string& name, int64_t wrong_one_in) {
    PerTokenLosses losses{.info = {.answers = kAnswers}, .nll = {kNotANumber}, .targets = {7}, .right = {kNotANumber}};
    for (size_t i = 0; i < kAnswers; ++i) {
      losses.nll.push_back(1.0F);
      losses.targets.push_back(7);
      losses.right.push_back(wrong_one_in > 0 && i % 4 == 0 ? 0.0F : 1.0F);
    }
    write_per_token_file(directory_ / name, losses);
    return directory_ / name;
  };
  const auto a = write_answers("a.h5", 0);
  const OrderedJson json = paired_differences({a, write_answers("b.h5", 4)});
  EXPECT_EQ(json["evaluations"][1]["answers"]["accuracy"], 0.75);
  EXPECT_EQ(json["evaluations"][1]["answers"]["answers"], 64);
  const OrderedJson& answers = json["differences"][0]["answers"];
  EXPECT_EQ(answers["accuracy"], 0.25);
  EXPECT_EQ(answers["higher"], "a");
  const std::string text = describe_paired_differences(json);
  EXPECT_THAT(text, HasSubstr("% right"));
  EXPECT_THAT(text, HasSubstr("a is higher"));
  const OrderedJson unmarked = paired_differences({write("c.h5", losses(0.0, 1)), write("d.h5", losses(0.1, 2))});
  EXPECT_FALSE(unmarked["differences"][0].contains("answers"));
  EXPECT_THAT(describe_paired_differences(unmarked), testing::Not(HasSubstr("% right")));
}

// Two runs of examples, of which one is far harder: what lies between them makes no interval.
TEST_F(PairedDifferenceTest, RunsOfExamplesAreNoSpreadOfTheText) {
  std::vector<float> nll(1280, 1.0F);
  std::fill(nll.begin() + 320, nll.end(), 4.0F);
  for (size_t i = 0; i < nll.size(); ++i) nll[i] += i % 2 == 0 ? 0.01F : 0.0F;
  const auto write_runs = [&](const std::string& name, std::vector<int64_t> runs) {
    const PerTokenInfo info{.example_runs = runs.empty() ? -1 : std::ssize(runs)};
    write_per_token_file(
        directory_ / name,
        {.info = info, .nll = nll, .targets = std::vector<int32_t>(nll.size(), 7), .runs = std::move(runs)});
    return directory_ / name;
  };
  const auto width_of = [&](const std::filesystem::path& file) {
    const std::filesystem::path copy = directory_ / "copy.h5";
    std::filesystem::copy_file(file, copy, std::filesystem::copy_options::overwrite_existing);
    return paired_differences({file, copy})["evaluations"][0]["confidence95"].get<double>();
  };
  EXPECT_GT(width_of(write_runs("text.h5", {})), 0.5);
  EXPECT_LT(width_of(write_runs("examples.h5", {320, 960})), 0.01);
  for (const std::vector<int64_t>& wrong :
       {std::vector<int64_t>{320}, std::vector<int64_t>{320, 961}, std::vector<int64_t>{-1, 1281}})
    EXPECT_THAT(message_of<DataError>([&] { width_of(write_runs("wrong.h5", wrong)); }), HasSubstr("wrong.h5: runs"));
}

TEST_F(PairedDifferenceTest, OfOtherTokensIsRefused) {
  const auto refusal = [&](const std::vector<std::filesystem::path>& files) {
    return message_of<Error>([&] { paired_differences(files); });
  };
  const auto silent = write("silent.h5", {kNotANumber, 1.0F, 2.0F});
  const auto test = write("test.h5", {kNotANumber, 1.0F, 2.0F}, {.dataset = "xxh3:1", .split = "test"});
  const auto valid = write("valid.h5", {kNotANumber, 1.0F, 2.0F}, {.dataset = "xxh3:1", .split = "valid"});
  const auto other = write("other.h5", {kNotANumber, 1.0F, 2.0F}, {.dataset = "xxh3:2"});
  const auto fewer = write("fewer.h5", {kNotANumber, 1.0F, kNotANumber});
  EXPECT_THAT(refusal({test}), HasSubstr("expected 2 to 26 files of losses, found 1"));
  EXPECT_THAT(refusal({test, directory_ / "." / "test.h5"}), HasSubstr("expected each file once, found"));
  EXPECT_EQ(refusal({silent, test, valid}), valid.string() + ": split \"valid\", but " + test.string() +
                                                " has \"test\"; only losses of the same tokens can be compared");
  EXPECT_THAT(refusal({test, silent, other}),
              HasSubstr(": losses of a text, but " + test.string() + " has those of split test; only losses"));
  EXPECT_THAT(refusal({silent, fewer}),
              HasSubstr(fewer.string() + ": scores 1 tokens, without token 2 among them, but " + silent.string() +
                        " scores 2, with it"));
  EXPECT_THAT(refusal({silent, write("longer.h5", {kNotANumber, 1.0F, 2.0F, 3.0F})}), HasSubstr("4 tokens, but"));
  EXPECT_THAT(refusal({write("none.h5", {kNotANumber, kNotANumber}), silent}),
              HasSubstr("expected a token that is scored"));
  EXPECT_THAT(refusal({test, directory_ / "missing.h5"}), HasSubstr("the file is missing"));
}

}  // namespace
}  // namespace segue

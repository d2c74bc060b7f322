// Which tokens are masked, and what a masked model's segments read.
#include "data_pipeline/masked_tokens.h"

#include <array>
#include <cmath>
#include <string>

#include "data_pipeline/segment_streams.h"
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

constexpr int64_t kVocabulary = 11;
constexpr int32_t kToken = 7;

TEST(MaskedTokens, AreChosenAndReadAsOftenAsSaid) {
  const Masking masking{
      .rate = 0.2, .mask_token_share = 0.7, .random_token_share = 0.2, .vocabulary = kVocabulary, .seed = 3};
  constexpr int64_t kTokens = 400000;
  double chosen = 0.0, as_mask = 0.0;
  std::array<double, kVocabulary> as_token{};
  for (int64_t offset = 0; offset < kTokens; ++offset) {
    const MaskedToken found = masked(masking, 1, offset, kToken);
    if (found.target < 0) {
      ASSERT_EQ(found.token, kToken);
      continue;
    }
    ASSERT_EQ(found.target, kToken);
    chosen += 1.0;
    if (found.token == kVocabulary) {
      as_mask += 1.0;
    } else {
      as_token.at(static_cast<size_t>(found.token)) += 1.0;
    }
  }
  // Five standard deviations of a share.
  const auto expect_share = [](double found, double of, double share) {
    EXPECT_NEAR(found / of, share, 5.0 * std::sqrt(share * (1.0 - share) / of));
  };
  expect_share(chosen, kTokens, 0.2);
  expect_share(as_mask, chosen, 0.7);
  expect_share(as_token[kToken], chosen, 0.1 + 0.2 / kVocabulary);
  // Of the ten others: 9 degrees of freedom, whose one in a thousand is 27.9.
  const double each = 0.2 * chosen / kVocabulary;
  double statistic = 0.0;
  for (size_t token = 0; token < as_token.size(); ++token)
    statistic += token == kToken ? 0.0 : std::pow(as_token[token] - each, 2) / each;
  EXPECT_LT(statistic, 27.9);
}

TEST(MaskedTokens, DependOnSeedEpochAndOffset) {
  const auto targets = [](uint64_t seed, int64_t epoch, int64_t first) {
    std::vector<int32_t> found;
    for (int64_t offset = first; offset < first + 200; ++offset)
      found.push_back(masked({.vocabulary = kVocabulary, .seed = seed}, epoch, offset, kToken).target);
    return found;
  };
  EXPECT_EQ(targets(1, 1, 0), targets(1, 1, 0));
  EXPECT_NE(targets(1, 1, 0), targets(2, 1, 0));
  EXPECT_NE(targets(1, 1, 0), targets(1, 2, 0));
  EXPECT_NE(targets(1, 1, 0), targets(1, 1, 1));
}

// Losses of masked models are compared at these tokens: other ones would be another test.
TEST(MaskedTokens, OfEvaluationsAreThoseTheyAlwaysWere) {
  std::vector<int64_t> chosen;
  for (int64_t offset = 0; offset < 40; ++offset)
    if (masked({.vocabulary = kVocabulary}, 0, offset, kToken).target >= 0) chosen.push_back(offset);
  EXPECT_EQ(chosen, (std::vector<int64_t>{9, 11, 28, 34, 37}));
}

class MaskedStreams : public ::testing::Test {
 protected:
  MaskedStreams() {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "abc-"[random_bits({.seed = 3, .step = 0, .site = 0}, i) % 4];
    prepare_silently({.output = directory_ / "text", .train = {write_text(directory_ / "a.txt", text)}});
    tokens_ = all_tokens(directory_ / "text", "train");
  }
  TokenSource source() { return Dataset(directory_ / "text").split("train"); }

  TemporaryDirectory directory_;
  std::vector<int32_t> tokens_;
  StreamOptions options_{.streams = 3,
                         .local_streams = 3,
                         .segment_length = 7,
                         .boundary = {'-'},
                         .farthest = 5,
                         .masking = Masking{.rate = 0.4, .vocabulary = 256, .seed = 5}};
};

// Row i of a stream reads its token i + 1 as it is masked; behind it is what a document has until the next begins.
TEST_F(MaskedStreams, ReadTheirTargetsMaskedAndSeeToTheEndOfTheirDocument) {
  const auto rows = static_cast<int64_t>(tokens_.size()) / options_.streams;
  SegmentStreams reader(source(), options_);
  EXPECT_TRUE(reader.scores_some());
  for (int64_t step = 0; step < 2 * reader.segments_per_epoch(); ++step) {
    const StreamPosition position = reader.position();
    const Segment& segment = *reader.next();
    for (int64_t b = 0; b < options_.streams; ++b) {
      for (int64_t i = 0; i < segment.length; ++i) {
        const int64_t offset = b * rows + position.row + i + 1;
        const MaskedToken expected =
            masked(*options_.masking, position.epoch + 1, offset, tokens_[static_cast<size_t>(offset)]);
        const auto place = static_cast<size_t>(b * segment.length + i);
        ASSERT_EQ(segment.tokens.as<int32_t>()[place], expected.token);
        ASSERT_EQ(segment.targets.as<int32_t>()[place], expected.target);
        int64_t end = i + 1;
        while (end < segment.length && tokens_[static_cast<size_t>(offset + end - i - 1)] != '-') ++end;
        ASSERT_EQ(segment.ahead.as<int32_t>()[place], end - 1 - i) << "stream " << b << ", row " << position.row + i;
      }
    }
  }
}

TEST_F(MaskedStreams, AreTheSameWhereverTheyAreReadFrom) {
  SegmentStreams reader(source(), options_);
  for (int64_t step = 0; step < reader.segments_per_epoch() + 2; ++step) {
    StreamOptions last_options = options_;
    last_options.first_stream = 2;
    last_options.local_streams = 1;
    SegmentStreams last(source(), last_options, reader.position());
    const Segment& whole = *reader.next();
    const Segment& found = *last.next();
    for (const auto& [all, one] : {std::pair(whole.tokens, found.tokens), std::pair(whole.targets, found.targets),
                                   std::pair(whole.ahead, found.ahead)}) {
      const int32_t* of_last = all.as<int32_t>() + 2 * whole.length;
      EXPECT_TRUE(std::equal(of_last, of_last + whole.length, one.as<int32_t>())) << step;
    }
  }
}

}  // namespace
}  // namespace segue

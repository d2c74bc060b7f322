// The reader against a plain one, on corpora whose tokens are their own positions.
#include "data_pipeline/segment_streams.h"

#include <span>
#include <string>

#include "base/random.h"
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

using ::testing::HasSubstr;

// A segment by value.
struct Seen {
  std::vector<int32_t> tokens;
  std::vector<int32_t> targets;
  int64_t length;
  int64_t epoch;
  int64_t index;
  bool starts_text;
  bool operator==(const Seen&) const = default;
};

std::vector<int32_t> values_of(const ConstTensorView& view) {
  return {view.as<int32_t>(), view.as<int32_t>() + view.elements()};
}

Seen seen(const Segment& segment) {
  return {values_of(segment.tokens), values_of(segment.targets), segment.length, segment.epoch, segment.index,
          segment.starts_text};
}

// All segments of one epoch by the definition: N' = floor(N/B)*B tokens as B rows, cut every T.
std::vector<Seen> plain_epoch(int64_t tokens, const StreamOptions& options, int64_t epoch) {
  const int64_t rows = tokens / options.streams;
  std::vector<Seen> segments;
  for (int64_t i = 0; i < rows - 1; i += options.segment_length) {
    const int64_t length = std::min(options.segment_length, rows - 1 - i);
    Seen segment{{}, {}, length, epoch, i / options.segment_length, i == 0};
    for (int64_t b = options.first_stream; b < options.first_stream + options.local_streams; ++b)
      for (int64_t t = 0; t < length; ++t) {
        segment.tokens.push_back(static_cast<int32_t>(b * rows + i + t));
        segment.targets.push_back(static_cast<int32_t>(b * rows + i + t + 1));
      }
    segments.push_back(segment);
  }
  return segments;
}

std::vector<Seen> plain_epochs(int64_t tokens, const StreamOptions& options, int64_t epochs) {
  std::vector<Seen> segments;
  for (int64_t epoch = 0; epoch < epochs; ++epoch)
    for (const Seen& segment : plain_epoch(tokens, options, epoch)) segments.push_back(segment);
  return segments;
}

std::vector<Seen> take(SegmentStreams& streams, size_t count) {
  std::vector<Seen> segments;
  while (segments.size() < count) {
    const Segment* segment = streams.next();
    if (segment == nullptr) break;
    segments.push_back(seen(*segment));
  }
  return segments;
}

class SegmentStreamsTest : public ::testing::Test {
 protected:
  TokenSource source_of(int64_t tokens, int64_t shard_tokens = 7) {
    return Dataset(prepare_positions(directory_, tokens, shard_tokens)).split("train");
  }
  TokenSource source_again() { return Dataset(directory_ / "positions").split("train"); }

  TemporaryDirectory directory_;
};

TEST_F(SegmentStreamsTest, EqualThePlainReaderForStreamsAndSegmentsOfAllKinds) {
  for (const int64_t tokens : {11, 13, 29, 53, 101}) {
    source_of(tokens);
    for (int64_t streams = 1; streams <= 5; ++streams)
      for (int64_t length = 1; length <= 7; ++length) {
        const StreamOptions options{.streams = streams, .local_streams = streams, .segment_length = length};
        SegmentStreams reader(source_again(), options);
        const std::vector<Seen> expected = plain_epochs(tokens, options, 3);
        ASSERT_EQ(reader.segments_per_epoch() * 3, static_cast<int64_t>(expected.size()));
        ASSERT_EQ(reader.targets_per_stream(), tokens / streams - 1);
        ASSERT_EQ(take(reader, expected.size()), expected)
            << tokens << " tokens, " << streams << " streams, segments of " << length;
      }
  }
}

TEST_F(SegmentStreamsTest, SegmentsHaveTheShapeOfTheirLength) {
  SegmentStreams reader(source_of(23), {.streams = 2, .local_streams = 2, .segment_length = 4});
  for (const int64_t length : {4, 4, 2}) {
    const Segment* segment = reader.next();
    EXPECT_EQ(segment->tokens.shape, (Shape{2, length}));
    EXPECT_EQ(segment->targets.shape, (Shape{2, length}));
  }
}

TEST_F(SegmentStreamsTest, ARangeOfTheStreamsIsThatPartOfAll) {
  source_of(101);
  for (int64_t first = 0; first < 5; ++first)
    for (int64_t count = 1; count <= 5 - first; ++count) {
      const StreamOptions options{
          .streams = 5, .first_stream = first, .local_streams = count, .segment_length = 3, .repeat = false};
      SegmentStreams reader(source_again(), options);
      EXPECT_EQ(take(reader, 100), plain_epoch(101, options, 0)) << first << " + " << count;
    }
}

TEST_F(SegmentStreamsTest, WithoutRepeatingTheEndComesOnceAndStays) {
  const StreamOptions options{.streams = 3, .local_streams = 3, .segment_length = 4, .repeat = false};
  SegmentStreams reader(source_of(53), options);
  EXPECT_EQ(take(reader, 100), plain_epoch(53, options, 0));
  EXPECT_EQ(reader.next(), nullptr);
  EXPECT_EQ(reader.next(), nullptr);
  reader.restore({});
  EXPECT_EQ(take(reader, 100), plain_epoch(53, options, 0));
}

TEST_F(SegmentStreamsTest, FromEveryPositionTheContinuationIsTheSame) {
  const StreamOptions options{.streams = 3, .local_streams = 3, .segment_length = 4};
  const std::vector<Seen> all = plain_epochs(source_of(53).tokens(), options, 4);
  SegmentStreams one(source_again(), options);
  SegmentStreams jumping(source_again(), options);
  for (size_t done = 0; done + 8 < all.size(); ++done) {
    const std::vector<Seen> expected(all.begin() + static_cast<int64_t>(done),
                                     all.begin() + static_cast<int64_t>(done) + 8);
    const StreamPosition position = one.position();
    SegmentStreams resumed(source_again(), options, position);
    EXPECT_EQ(resumed.position(), position);
    EXPECT_EQ(take(resumed, 8), expected) << "constructed after " << done;
    jumping.restore(position);
    EXPECT_EQ(take(jumping, 8), expected) << "restored after " << done;
    one.next();
  }
}

TEST_F(SegmentStreamsTest, APositionHoldsForAnotherSegmentLength) {
  source_of(53);
  const StreamOptions options{.streams = 2, .local_streams = 2, .segment_length = 5};
  SegmentStreams reader(source_again(), options, {.epoch = 1, .row = 8});
  const Segment* segment = reader.next();
  EXPECT_EQ(values_of(segment->tokens), (std::vector<int32_t>{8, 9, 10, 11, 12, 34, 35, 36, 37, 38}));
  EXPECT_EQ(segment->epoch, 1);
  EXPECT_EQ(segment->index, 1);
  EXPECT_FALSE(segment->starts_text);
}

TEST_F(SegmentStreamsTest, AnotherSegmentLengthGoesOnWhereTheLastSegmentEnded) {
  source_of(53);
  SegmentStreams reader(source_again(), {.streams = 2, .local_streams = 2, .segment_length = 7});
  int64_t row = 0;
  for (const int64_t length : {3, 3, 7, 1, 5, 5}) {  // 24 of the 25 targets of a stream
    reader.set_segment_length(length);
    const Segment* segment = reader.next();
    ASSERT_EQ(segment->length, length);
    EXPECT_EQ(segment->tokens.as<int32_t>()[0], row);
    EXPECT_EQ(segment->targets.as<int32_t>()[length], 26 + row + 1);
    EXPECT_EQ(segment->starts_text, row == 0);
    row += length;
  }
  EXPECT_EQ(reader.position(), (StreamPosition{0, 24}));
  reader.set_segment_length(7);
  EXPECT_EQ(reader.next()->length, 1);
  EXPECT_TRUE(reader.next()->starts_text);
  EXPECT_EQ(message_of<ContractError>([&] { reader.set_segment_length(8); }), "segments of 8 tokens, expected 1 to 7");
}

// Examples whose tokens are their own positions, of which every third is scored.
MarkedSplit examples_of(int64_t count, int64_t tokens) {
  MarkedSplit split;
  split.name = "train";
  for (int64_t i = 0; i < count * tokens; ++i) {
    split.tokens.push_back(static_cast<uint16_t>(i));
    split.marks.push_back(i % 3 == 0 ? 1 : 0);
  }
  split.examples = {{.count = count, .tokens = tokens}};
  return split;
}

int32_t target_at(int64_t row) { return (row + 1) % 3 == 0 ? static_cast<int32_t>(row + 1) : kUnscoredTarget; }

// All segments of one epoch of such examples, by definition.
std::vector<Seen> plain_examples(int64_t count, int64_t tokens, const StreamOptions& options, int64_t epoch) {
  const int64_t per_stream = count / options.streams;
  std::vector<Seen> segments;
  for (int64_t e = 0; e < per_stream; ++e)
    for (int64_t i = 0; i < tokens - 1; i += options.segment_length) {
      const int64_t length = std::min(options.segment_length, tokens - 1 - i);
      Seen segment{{}, {}, length, epoch, (e * tokens + i) / options.segment_length, i == 0};
      for (int64_t b = options.first_stream; b < options.first_stream + options.local_streams; ++b)
        for (int64_t t = 0; t < length; ++t) {
          const int64_t row = (b * per_stream + e) * tokens + i + t;
          segment.tokens.push_back(static_cast<int32_t>(row));
          segment.targets.push_back(target_at(row));
        }
      segments.push_back(segment);
    }
  return segments;
}

TEST_F(SegmentStreamsTest, ExamplesAreCutEachByItselfAndBeginATextEach) {
  for (const int64_t tokens : {2, 5, 9})
    for (const int64_t count : {3, 7}) {
      write_marked(directory_ / "examples", 1000, {examples_of(count, tokens)}, 11);
      for (int64_t streams = 1; streams <= 3; ++streams)
        for (int64_t length = 1; length <= 9; ++length) {
          const StreamOptions options{.streams = streams, .local_streams = streams, .segment_length = length};
          std::vector<Seen> expected = plain_examples(count, tokens, options, 0);
          const auto epoch = static_cast<int64_t>(expected.size());
          for (const Seen& segment : plain_examples(count, tokens, options, 1)) expected.push_back(segment);
          SegmentStreams reader(Dataset(directory_ / "examples").split("train"), options);
          ASSERT_EQ(reader.segments_per_epoch(), epoch);
          ASSERT_EQ(reader.targets_per_stream(), count / streams * (tokens - 1));
          SegmentStreams restored(Dataset(directory_ / "examples").split("train"), options);
          for (size_t i = 0; i < expected.size(); ++i) {
            restored.restore(reader.position());
            ASSERT_EQ(seen(*reader.next()), expected[i]) << i << " of " << streams << " streams, " << length;
            ASSERT_EQ(seen(*restored.next()), expected[i]) << i << " restored";
          }
        }
    }
}

TEST_F(SegmentStreamsTest, ExamplesThatCannotBeCutIntoStreams) {
  MarkedSplit split = examples_of(3, 4);
  const auto refusal = [&](int64_t streams) {
    write_marked(directory_ / "examples", 1000, {split});
    return message_of<DataError>([&] {
      SegmentStreams(Dataset(directory_ / "examples").split("train"), {.streams = streams, .local_streams = streams});
    });
  };
  EXPECT_THAT(refusal(4), HasSubstr("split \"train\": expected at least 4 examples for as many streams, found 3"));
  split.examples = {{.count = 1, .tokens = 4}, {.count = 4, .tokens = 2}};
  EXPECT_THAT(refusal(1), HasSubstr("expected examples of one length, found some of 4 tokens and some of 2"));
}

TEST_F(SegmentStreamsTest, ASegmentStaysAsItIsUntilTheNextCall) {
  SegmentStreams reader(source_of(101),
                        {.streams = 1, .local_streams = 1, .segment_length = 3, .repeat = true, .read_ahead = 1});
  for (int64_t i = 0; i < 200; ++i) {
    const Segment* segment = reader.next();
    const Seen before = seen(*segment);
    std::this_thread::sleep_for(std::chrono::microseconds(50));  // time for the thread to write where it must not
    ASSERT_EQ(seen(*segment), before);
  }
}

TEST_F(SegmentStreamsTest, StreamsLongerThanAWindow) {
  constexpr int64_t kTokens = 65536;  // as many as uint16 distinguishes
  source_of(kTokens, 10007);
  const StreamOptions options{.streams = 1, .local_streams = 1, .segment_length = 997, .repeat = false};
  SegmentStreams reader(source_again(), options);
  EXPECT_EQ(take(reader, 100), plain_epoch(kTokens, options, 0));
  const StreamOptions whole{.streams = 1, .local_streams = 1, .segment_length = 60000, .repeat = false};
  SegmentStreams long_reader(source_again(), whole);
  EXPECT_EQ(take(long_reader, 100), plain_epoch(kTokens, whole, 0));
}

TEST_F(SegmentStreamsTest, ReadersThatAreNotReadToTheEndStop) {
  source_of(101);
  for (int taken = 0; taken < 20; ++taken) {
    SegmentStreams reader(source_again(), {.streams = 2, .local_streams = 2, .segment_length = 3});
    for (int i = 0; i < taken; ++i) reader.next();
  }
}

TEST_F(SegmentStreamsTest, SplitsTooShortForTheStreamsSayTheNumbers) {
  source_of(9);
  EXPECT_EQ(message_of<DataError>([this] {
              SegmentStreams reader(source_again(), {.streams = 5, .local_streams = 5, .segment_length = 2});
            }),
            (directory_ / "positions").string() +
                ": split \"train\": expected at least 10 tokens for 5 streams of 2, found 9; lower the batch size, or "
                "prepare more text");
}

TEST_F(SegmentStreamsTest, PositionsOutsideTheSplitAreRefused) {
  source_of(20);
  const StreamOptions options{.streams = 2, .local_streams = 2, .segment_length = 3};
  SegmentStreams reader(source_again(), options);
  const std::vector<Seen> expected = plain_epoch(20, options, 0);
  for (const StreamPosition position : {StreamPosition{0, 9}, StreamPosition{0, -1}, StreamPosition{-1, 0}}) {
    EXPECT_THAT(message_of<DataError>([&] { reader.restore(position); }), HasSubstr("expected a row from 0 to 8"));
    EXPECT_THAT(message_of<DataError>([&] { SegmentStreams other(source_again(), options, position); }),
                HasSubstr("expected a row from 0 to 8"));
  }
  EXPECT_EQ(take(reader, 3), expected) << "a refused position changes nothing";
}

TEST_F(SegmentStreamsTest, OptionsOutsideTheContract) {
  source_of(20);
  for (const StreamOptions& options :
       {StreamOptions{.streams = 0}, StreamOptions{.segment_length = 0}, StreamOptions{.read_ahead = 0},
        StreamOptions{.streams = 2, .first_stream = 1, .local_streams = 2},
        StreamOptions{.streams = 2, .first_stream = -1}, StreamOptions{.local_streams = 0}})
    EXPECT_NE(message_of<ContractError>([&] { SegmentStreams reader(source_again(), options); }), "no error");
}

TEST_F(SegmentStreamsTest, DamageFoundByTheThreadIsThrownByNext) {
  TokenSource source = source_of(70, 35);
  std::filesystem::resize_file(directory_ / "positions" / "train-00001.h5", 100);
  SegmentStreams reader(std::move(source), {.streams = 1, .local_streams = 1, .segment_length = 5});
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(message_of<DataError>([&] { take(reader, 100); }),
                HasSubstr("train-00001.h5: is cut off: 100 bytes of "));
  reader.restore({});
  EXPECT_THAT(message_of<DataError>([&] { take(reader, 100); }),
              HasSubstr("train-00001.h5: is cut off: 100 bytes of "));
}

// Rows of its document before each row of a stream, by the definition.
std::vector<int32_t> plain_reach(std::span<const int32_t> stream, const std::vector<int32_t>& boundary) {
  std::vector<int32_t> reach;
  int32_t rows = 0;
  size_t free_from = 0;  // where the next boundary may begin
  for (size_t row = 0; row < stream.size(); ++row) {
    const size_t first = row + 1 - boundary.size();
    if (row + 1 >= free_from + boundary.size() &&
        std::equal(boundary.begin(), boundary.end(), stream.begin() + static_cast<int64_t>(first))) {
      rows = 0;
      free_from = row + 1;
    }
    reach.push_back(rows++);
  }
  return reach;
}

class DocumentsOfStreamsTest : public SegmentStreamsTest {
 protected:
  static constexpr int64_t kFarthest = 6;
  static constexpr int64_t kLength = 5;

  // What a query can see of it: as much as lies in the segment and `kFarthest` rows before it.
  static std::vector<int32_t> seen(const Segment& segment) {
    std::vector<int32_t> reach = values_of(segment.reach);
    for (size_t i = 0; i < reach.size(); ++i)
      reach[i] = std::min(reach[i], static_cast<int32_t>(kFarthest + static_cast<int64_t>(i) % segment.length));
    return reach;
  }
};

TEST_F(DocumentsOfStreamsTest, AreToldApartFromEveryPosition) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "ab##-"[random_bits({.seed = 3, .step = 0, .site = 0}, i) % 5];
  prepare_silently({.output = directory_ / "text", .train = {write_text(directory_ / "a.txt", text)}});
  const Dataset dataset(directory_ / "text");
  const std::vector<int32_t> tokens = all_tokens(directory_ / "text", "train");
  for (const char* boundary : {"-", "##", "a#", "#-#", "b-a"}) {
    const StreamOptions options{.streams = 3,
                                .local_streams = 3,
                                .segment_length = kLength,
                                .boundary = boundary_tokens(dataset, boundary),
                                .farthest = kFarthest};
    const size_t rows = tokens.size() / 3;
    std::vector<std::vector<int32_t>> expected;
    for (size_t b = 0; b < 3; ++b)
      expected.push_back(plain_reach(std::span(tokens).subspan(b * rows, rows), options.boundary));
    SegmentStreams reader(dataset.split("train"), options);
    for (int64_t step = 0; step < reader.segments_per_epoch() + 3; ++step) {
      const StreamPosition position = reader.position();
      SegmentStreams resumed(dataset.split("train"), options, position);
      StreamOptions last_options = options;
      last_options.first_stream = 2;
      last_options.local_streams = 1;
      SegmentStreams last(dataset.split("train"), last_options, position);
      const Segment& segment = *reader.next();
      const std::vector<int32_t> found = seen(segment);
      for (size_t b = 0; b < 3; ++b) {
        for (int64_t i = 0; i < segment.length; ++i) {
          const int32_t true_reach = expected[b][static_cast<size_t>(position.row + i)];
          ASSERT_EQ(found[b * static_cast<size_t>(segment.length) + static_cast<size_t>(i)],
                    std::min(true_reach, static_cast<int32_t>(kFarthest + i)))
              << boundary << ", stream " << b << ", row " << position.row + i;
        }
      }
      ASSERT_EQ(seen(*resumed.next()), found) << boundary << " from row " << position.row;
      ASSERT_EQ(seen(*last.next()), std::vector<int32_t>(found.end() - segment.length, found.end()));
    }
  }
}

TEST_F(DocumentsOfStreamsTest, AreNotToldApartWithoutABoundary) {
  SegmentStreams reader(source_of(23), {.streams = 2, .local_streams = 2, .segment_length = 4});
  EXPECT_TRUE(reader.next()->reach.empty());
}

}  // namespace
}  // namespace segue

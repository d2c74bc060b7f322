// Manifests that the reader accepts, and what it says about the others.
#include "data_pipeline/dataset_manifest.h"

#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

using ::testing::HasSubstr;

const std::string kChecksum = "xxh3:00112233445566778899aabbccddeeff";

DatasetManifest whole_manifest() {
  DatasetManifest manifest;
  manifest.splits = {{"train", 12, {{"train-00000.h5", 7, kChecksum}, {"train-00001.h5", 5, kChecksum}}, 12},
                     {"valid", 3, {{"valid-00000.h5", 3, kChecksum}}, 3}};
  manifest.sources = {{"book.txt", 15, kChecksum, {"train", "valid"}},
                      {"book.txt.marks", 15, kChecksum, {"valid"}, true}};
  manifest.separator = 10;
  manifest.command = "segue prepare \"a b\"";
  return manifest;
}

std::string refusal(const DatasetManifest& manifest) {
  return message_of<DataError>([&] { parse_dataset_manifest(dataset_manifest_text(manifest), "manifest.json"); });
}

// The error for the whole manifest's text with one occurrence of `from` replaced.
std::string refusal(const std::string& from, const std::string& to) {
  std::string text = dataset_manifest_text(whole_manifest());
  EXPECT_NE(text.find(from), std::string::npos) << from;
  text.replace(text.find(from), from.size(), to);
  return message_of<DataError>([&] { parse_dataset_manifest(text, "manifest.json"); });
}

TEST(DatasetManifestTest, WhatIsWrittenIsRead) {
  const std::string text = dataset_manifest_text(whole_manifest());
  const DatasetManifest manifest = parse_dataset_manifest(text, "manifest.json");
  EXPECT_EQ(manifest.splits.at(0).shards.at(1).tokens, 5);
  EXPECT_EQ(manifest.sources.at(0).splits, (std::vector<std::string>{"train", "valid"}));
  EXPECT_EQ(manifest.sources.at(0).is_beside, std::nullopt);
  EXPECT_EQ(manifest.sources.at(1).is_beside, true);
  EXPECT_EQ(dataset_manifest_text(manifest), text);
}

TEST(DatasetManifestTest, FieldsThatAreWrongByThemselves) {
  EXPECT_EQ(refusal("\"version\": 1", "\"version\": 0"), "manifest.json: version: expected 1, found 0");
  EXPECT_EQ(refusal("\"version\": 1", "\"version\": 2, \"more\": 3"),
            "manifest.json: expected version 1 of the format, found 2: a newer Segue wrote it; use that one");
  EXPECT_EQ(refusal("\"segue-dataset\"", "\"other\""),
            "manifest.json: format: expected \"segue-dataset\", found \"other\"");
  EXPECT_EQ(refusal("\"tokens\": 7", "\"tokens\": \"7\""),
            "manifest.json: splits[0].shards[0].tokens: expected an integer >= 1 and <= 1000000000000000, found \"7\"; "
            "write it without quotes: 7");
  EXPECT_EQ(refusal("\"separator\"", "\"seperator\""),
            "manifest.json: seperator: unknown key; did you mean separator?");
  EXPECT_THAT(refusal("\"uint8\"", "\"int8\""),
              HasSubstr("token_type: expected one of \"uint8\", \"uint16\", \"uint32\", found \"int8\""));
  EXPECT_EQ(refusal("\"vocabulary\": 256", "\"vocabulary\": 257"),
            "manifest.json: tokenizer.vocabulary: expected at most 256 for uint8 tokens, found 257");
}

TEST(DatasetManifestTest, CountsThatDoNotAddUp) {
  EXPECT_EQ(refusal("\"tokens\": 5", "\"tokens\": 4"),
            "manifest.json: splits[0].tokens: expected 11, the sum of its shards' tokens, found 12");
  EXPECT_EQ(refusal("\"tokens\": 5", "\"tokens\": 999999999999999"),
            "manifest.json: splits[0].tokens: expected the sum of its shards' tokens, found 12");
  DatasetManifest manifest = whole_manifest();
  for (SplitInfo& split : manifest.splits) {
    split.shards.resize(1);
    split.tokens = split.bytes = split.shards[0].tokens = 600'000'000'000'000;
  }
  EXPECT_EQ(refusal(manifest),
            "manifest.json: splits[1].tokens: expected at most 1000000000000000 in all splits, found 600000000000000");
  manifest.splits.clear();
  EXPECT_EQ(refusal(manifest), "manifest.json: splits: expected at least one split, found a list of 0");
}

TEST(DatasetManifestTest, MarksAndExamplesHoldAsMuchAsTheSplit) {
  DatasetManifest manifest = whole_manifest();
  SplitInfo& split = manifest.splits[1];
  split.marks = RowInfo{.type = TokenType::kUInt8, .shards = {{"valid-marks-00000.h5", 3, kChecksum}}};
  split.examples = {{.count = 1, .tokens = 3, .traits = {{"items", 4}}}};
  const std::string text = dataset_manifest_text(manifest);
  const DatasetManifest read = parse_dataset_manifest(text, "manifest.json");
  EXPECT_EQ(dataset_manifest_text(read), text);
  EXPECT_EQ(read.splits[1].runs().at(0).traits.at(0), (ExampleTrait{"items", 4}));
  EXPECT_EQ(read.splits[0].runs().at(0).tokens, 12);

  split.marks->shards[0].tokens = 2;
  EXPECT_EQ(refusal(manifest),
            "manifest.json: splits[1].tokens: expected 2, the sum of its marks shards' tokens, found 3");
  split.marks->shards[0] = {"train-00000.h5", 3, kChecksum};
  EXPECT_THAT(refusal(manifest), HasSubstr("splits[1].marks.shards[0].file: expected a file of its own"));
  split.marks->shards[0].file = "valid-marks-00000.h5";
  (*split.examples)[0] = {.count = 2, .tokens = 2};
  EXPECT_EQ(refusal(manifest), "manifest.json: splits[1].examples: expected examples of 3 tokens in all, found 4");
  (*split.examples)[0] = {.count = 3, .tokens = 1};
  EXPECT_THAT(refusal(manifest), HasSubstr("splits[1].examples[0].tokens: expected an integer >= 2"));
  split.examples->clear();
  EXPECT_EQ(refusal(manifest), "manifest.json: splits[1].examples: expected examples of 3 tokens in all, found 0");
}

TEST(DatasetManifestTest, NamesThatLeadElsewhereOrTwiceToTheSamePlace) {
  for (const char* name : {"../train-00000.h5", "/etc/passwd", "a/b", "", ".hidden", "a b", "a\\nb"})
    EXPECT_THAT(refusal("train-00000.h5", name), HasSubstr("splits[0].shards[0].file: expected a file name of letters"))
        << name;
  EXPECT_EQ(refusal("train-00001.h5", "train-00000.h5"),
            "manifest.json: splits[0].shards[1].file: expected a file of its own, found \"train-00000.h5\"");
  EXPECT_EQ(refusal("\"name\": \"valid\"", "\"name\": \"train\""),
            "manifest.json: splits[1].name: expected a name of its own, found \"train\"");
  EXPECT_THAT(refusal("\"name\": \"valid\"", "\"name\": \"" + std::string(65, 'v') + "\""),
              HasSubstr("splits[1].name: expected a short name"));
}

TEST(DatasetManifestTest, ChecksumsOfAnotherForm) {
  for (const char* checksum : {"", "md5:00112233445566778899aabbccddeeff", "xxh3:00112233445566778899aabbccddeef",
                               "xxh3:00112233445566778899aabbccddeeXX"})
    EXPECT_THAT(refusal(kChecksum, checksum),
                HasSubstr("splits[0].shards[0].checksum: expected \"xxh3:\" and 32 hexadecimal digits, found"));
}

TEST(DatasetManifestTest, TextThatEndsAnywhere) {
  const std::string text = dataset_manifest_text(whole_manifest());
  for (size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_THAT(message_of<DataError>([&] { parse_dataset_manifest(text.substr(0, size), "manifest.json"); }),
                HasSubstr("manifest.json: line "))
        << size;
}

}  // namespace
}  // namespace segue

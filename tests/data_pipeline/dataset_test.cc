// Reading datasets: across shards, and when something about them is wrong.
#include "data_pipeline/dataset.h"

#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class DatasetTest : public ::testing::Test {
 protected:
  std::string opening_fails() {
    return message_of<DataError>([this] { Dataset dataset(path_); });
  }
  std::string verifying_fails() {
    return message_of<DataError>([this] { Dataset(path_).verify(true); });
  }
  std::string reading_fails() {
    return message_of<DataError>([this] { all_tokens(path_, "train"); });
  }
  // Replaces the only occurrence of a text in the manifest.
  void edit_manifest(const std::string& from, const std::string& to) {
    std::string text = read_file(path_ / "manifest.json");
    ASSERT_EQ(text.find(from), text.rfind(from)) << from;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    write_text(path_ / "manifest.json", text.replace(text.find(from), from.size(), to));
  }
  std::string shard_name(int index) { return (path_ / fmt::format("train-{:05}.h5", index)).string(); }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = prepare_positions(directory_, 100, 7);
};

TEST_F(DatasetTest, EveryRangeReadsTheSameAcrossShards) {
  TokenSource source = Dataset(path_).split("train");
  ASSERT_EQ(source.tokens(), 100);
  for (int64_t begin = 0; begin <= 100; ++begin)
    for (int64_t end = begin; end <= 100; ++end) {
      std::vector<int32_t> found(static_cast<size_t>(end - begin), -1);
      std::vector<int32_t> expected(found.size());
      std::iota(expected.begin(), expected.end(), static_cast<int32_t>(begin));
      source.read(begin, found);
      ASSERT_EQ(found, expected) << begin << ".." << end;
    }
}

TEST_F(DatasetTest, ReadingBeyondTheSplitIsADefectOfTheCaller) {
  TokenSource source = Dataset(path_).split("train");
  std::vector<int32_t> tokens(2);
  EXPECT_THAT(message_of<ContractError>([&] { source.read(99, tokens); }), HasSubstr("2 tokens at 99 of 100"));
  EXPECT_THAT(message_of<ContractError>([&] { source.read(-1, tokens); }), HasSubstr("2 tokens at -1 of 100"));
}

TEST_F(DatasetTest, MoreShardsThanMayBeOpenAtOnce) {
  const auto path = prepare_positions(directory_, 300, 1);
  std::vector<int32_t> expected(300);
  std::iota(expected.begin(), expected.end(), 0);
  TokenSource source = Dataset(path).split("train");
  std::vector<int32_t> found(300);
  source.read(0, found);
  EXPECT_EQ(found, expected);
  source.read(0, found);
  EXPECT_EQ(found, expected);
}

TEST_F(DatasetTest, AWholeDatasetVerifiesAndLeavesNothingOpen) {
  EXPECT_EQ(verifying_fails(), "no error");
  EXPECT_EQ(all_tokens(path_, "train").size(), 100);
  EXPECT_EQ(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL), 0);
}

TEST_F(DatasetTest, AMissingDatasetOrSplit) {
  EXPECT_EQ(message_of<DataError>([this] { Dataset dataset(directory_ / "absent"); }),
            fmt::format("{}: there is no such dataset; beside it: {}", (directory_ / "absent").string(),
                        (directory_ / "positions").string()));
  make_directories(directory_ / "empty");
  EXPECT_EQ(message_of<DataError>([this] { Dataset dataset(directory_ / "empty"); }),
            (directory_ / "empty").string() + ": not a dataset: manifest.json is missing; found an empty directory");
  EXPECT_EQ(message_of<DataError>([this] { Dataset(path_).split("valid"); }),
            path_.string() + ": expected a split \"valid\", found only train");
}

TEST_F(DatasetTest, AMissingShard) {
  std::filesystem::remove(shard_name(3));
  EXPECT_EQ(opening_fails(), shard_name(3) + ": the shard is missing");
}

TEST_F(DatasetTest, AnEmptyOrForeignShard) {
  write_text(shard_name(3), "");
  EXPECT_EQ(opening_fails(), shard_name(3) + ": expected an HDF5 file, found 0 bytes");
  write_text(shard_name(3), std::string(5000, 'x'));
  EXPECT_EQ(opening_fails(), shard_name(3) + ": expected an HDF5 file, found something else");
}

TEST_F(DatasetTest, AShardCutOffAnywhere) {
  const std::string whole = read_file(shard_name(3));
  for (size_t size = 0; size < whole.size(); size += 37) {
    write_text(shard_name(3), whole.substr(0, size));
    EXPECT_THAT(opening_fails(), StartsWith(shard_name(3) + ": ")) << size << " bytes";
  }
}

TEST_F(DatasetTest, AShardInThePlaceOfAnother) {
  std::filesystem::copy_file(shard_name(2), shard_name(3), std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(opening_fails(), shard_name(3) + ": expected shard 3 of split \"train\", found shard 2 of split \"train\"");
}

TEST_F(DatasetTest, AShardOfAnotherLengthOrType) {
  edit_manifest("\"tokens\": 2,", "\"tokens\": 3,");
  edit_manifest("\"tokens\": 100,", "\"tokens\": 101,");
  EXPECT_EQ(opening_fails(), shard_name(14) + ": expected 3 tokens, found 2");
  edit_manifest("\"uint16\"", "\"uint32\"");
  EXPECT_EQ(opening_fails(), shard_name(0) + ": expected tokens of type uint32, found another type");
}

TEST_F(DatasetTest, ATokenOutsideTheVocabularyNeverReachesTheModel) {
  edit_manifest("\"vocabulary\": 100", "\"vocabulary\": 99");
  EXPECT_EQ(reading_fails(), shard_name(14) + ": token 99 at 1, expected below the vocabulary of 99");
}

TEST_F(DatasetTest, ADamagedChunkIsNamedWithItsShardAndOffset) {
  std::string bytes = read_file(shard_name(3));
  const std::vector<uint16_t> tokens{21, 22, 23, 24, 25, 26, 27};
  const std::string chunk(reinterpret_cast<const char*>(tokens.data()), 14);
  ASSERT_NE(bytes.find(chunk), std::string::npos);
  bytes[bytes.find(chunk) + 5] ^= 1;
  write_text(shard_name(3), bytes);
  EXPECT_EQ(opening_fails(), "no error");
  const std::string expected = shard_name(3) + ": \"tokens\": elements 0 to 6: damaged: wrong checksum";
  EXPECT_EQ(reading_fails(), expected);
  EXPECT_EQ(verifying_fails(), expected);
}

TEST_F(DatasetTest, TokensAreTheSameInOtherShardsAndTypes) {
  const Dataset first(path_);
  const std::string identity = first.identity("train");
  const std::string checksum = first.checksum("train");
  EXPECT_THAT(identity, StartsWith("tokens:xxh3:"));
  first.verify(true);
  const Dataset larger(prepare_positions(directory_, 100, 50));
  EXPECT_EQ(larger.identity("train"), identity);
  EXPECT_NE(larger.checksum("train"), checksum);
  std::vector<uint32_t> wide(100);
  std::iota(wide.begin(), wide.end(), 0U);
  prepare_silently({.output = directory_ / "wide",
                    .train = {write_tokens<uint32_t>(directory_ / "wide.bin", wide)},
                    .format = SourceFormat::kUInt32});
  EXPECT_EQ(Dataset(directory_ / "wide").identity("train"), identity);
  std::ranges::swap(wide[3], wide[4]);
  prepare_silently({.output = directory_ / "swapped",
                    .train = {write_tokens<uint32_t>(directory_ / "swapped.bin", wide)},
                    .format = SourceFormat::kUInt32});
  const Dataset swapped(directory_ / "swapped");
  EXPECT_FALSE(swapped.has_identity("train", identity));
  EXPECT_FALSE(swapped.has_identity("train", checksum));
  EXPECT_TRUE(larger.has_identity("train", identity));
  EXPECT_TRUE(larger.has_identity("train", larger.checksum("train"))) << "what older checkpoints hold";
  EXPECT_FALSE(larger.has_identity("train", checksum)) << "which do not tell shards from tokens";
}

// The manifest of an older version.
TEST_F(DatasetTest, TokensOfAManifestWithoutTheirChecksumAreRead) {
  const std::string identity = Dataset(path_).identity("train");
  const std::string checksum = Dataset(path_).checksum("train");
  std::string text = read_file(path_ / "manifest.json");
  const std::string key = fmt::format("\"checksum\": \"{}\"", *Dataset(path_).split_info("train").checksum);
  ASSERT_NE(text.find(key), std::string::npos);
  const size_t begin = text.rfind(',', text.find(key));
  text.erase(begin, text.find(key) + key.size() - begin);
  write_text(path_ / "manifest.json", text);
  const Dataset older(path_);
  EXPECT_EQ(older.identity("train"), checksum);
  EXPECT_TRUE(older.has_identity("train", checksum));
  EXPECT_TRUE(older.has_identity("train", identity));
  EXPECT_FALSE(older.has_identity("train", "tokens:" + checksum));
  older.verify(true);
}

TEST_F(DatasetTest, AShardExchangedForAWholeOneOfTheSameShapeFailsVerification) {
  const std::filesystem::path kept = directory_ / "kept.h5";
  std::filesystem::copy_file(shard_name(0), kept);
  const auto other = write_tokens<uint16_t>(directory_ / "other.bin", std::vector<uint16_t>(100, 1));
  prepare_silently(
      {.output = directory_ / "other", .train = {other}, .format = SourceFormat::kUInt16, .shard_tokens = 7});
  std::filesystem::copy_file(directory_ / "other" / "train-00000.h5", shard_name(0),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(opening_fails(), "no error");
  EXPECT_THAT(verifying_fails(), StartsWith(shard_name(0) + ": expected checksum xxh3:"));
}

}  // namespace
}  // namespace segue

// Shards damaged at random.
#include <random>

#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

// Whatever bytes are damaged, the answer is the right tokens or one DataError.
TEST(DatasetDamageTest, RandomDamageIsNeverSilent) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = prepare_positions(directory, 21, 7);
  const std::filesystem::path shard = path / "train-00002.h5";
  const std::string whole = read_file(shard);
  const std::vector<int32_t> expected = all_tokens(path, "train");
  std::mt19937 random(1);
  int refused = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::string bytes = whole;
    for (int i = 0; i < 1 + trial % 8; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    write_text(shard, bytes);
    try {
      ASSERT_EQ(all_tokens(path, "train"), expected) << "trial " << trial;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith(shard.string()));
      ++refused;
    }
  }
  EXPECT_GT(refused, 250);
}

}  // namespace
}  // namespace segue

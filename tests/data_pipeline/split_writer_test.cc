// Splits whose shards are larger than the pieces of memory in which their tokens wait.
#include "data_pipeline/split_writer.h"

#include <numeric>

#include "data_pipeline/shard_reader.h"
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

constexpr int64_t kMany = 5000000;  // more than a piece holds, of any type

std::vector<int32_t> tokens_of(const std::filesystem::path& directory, const RowInfo& row) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < row.shards.size(); ++i) {
    const ShardInfo& shard = row.shards[i];
    std::vector<int32_t> part(static_cast<size_t>(shard.tokens));
    ShardReader(directory / shard.file, {"split", static_cast<int64_t>(i), row.type, shard.tokens}).read(0, part);
    tokens.insert(tokens.end(), part.begin(), part.end());
  }
  return tokens;
}

// Equal or not, without printing millions of numbers.
void expect_tokens(const std::filesystem::path& directory, const RowInfo& row, std::vector<uint32_t> numbers) {
  EXPECT_TRUE(tokens_of(directory, row) == std::vector<int32_t>(numbers.begin(), numbers.end()));
  TokenChecksum checksum(TokenType::kUInt32);
  checksum.update(std::as_bytes(std::span(numbers)));
  EXPECT_EQ(row.checksum, checksum.text());
}

std::vector<uint32_t> numbers_below(uint32_t limit, int64_t count) {
  std::vector<uint32_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0U);
  for (uint32_t& number : numbers) number = (number * 2654435761U >> 8) % limit;
  return numbers;
}

TEST(SplitWriterTest, TokensOfManyPiecesKeepTheirOrder) {
  const TemporaryDirectory directory;
  const std::vector<uint32_t> numbers = numbers_below(50000, 2 * kMany + 12345);
  SplitWriter writer(directory.path(), "split", {TokenType::kUInt16, kMany, 0});
  for (std::span left(numbers); !left.empty(); left = left.subspan(std::min<size_t>(left.size(), 777777)))
    writer.append(left.first(std::min<size_t>(left.size(), 777777)));
  const RowInfo row = writer.finish_row();
  EXPECT_EQ(row.shards.size(), 3);
  expect_tokens(directory.path(), row, numbers);
}

TEST(SplitWriterTest, TokensOfManyPiecesBecomeWiderWhereTheyAreWrittenAndWhereTheyWait) {
  const TemporaryDirectory directory;
  std::vector<uint32_t> numbers = numbers_below(200, 2 * kMany - 1);
  SplitWriter writer(directory.path(), "split", {TokenType::kUInt8, kMany, 0});
  writer.append(numbers);
  const std::vector<uint32_t> wide{70000};
  writer.append(wide);
  numbers.push_back(wide[0]);
  const RowInfo row = writer.finish_row();
  EXPECT_EQ(row.type, TokenType::kUInt32);
  EXPECT_EQ(row.shards.size(), 2);
  expect_tokens(directory.path(), row, numbers);
}

}  // namespace
}  // namespace segue

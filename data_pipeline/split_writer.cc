#include "data_pipeline/split_writer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data_pipeline/dataset_output.h"
#include "data_pipeline/shard_reader.h"

namespace segue {

SplitWriter::SplitWriter(std::filesystem::path directory, std::string name, const ShardLayout& layout)
    : directory_(std::move(directory)), layout_(layout), info_{.name = std::move(name)}, checksum_(layout.type) {}

void SplitWriter::append(std::span<const std::byte> tokens) {
  checksum_.update(tokens);
  const auto shard_bytes = static_cast<size_t>(layout_.shard_tokens * bytes_of(layout_.type));
  while (!tokens.empty()) {
    const std::span part = tokens.first(std::min(tokens.size(), shard_bytes - waiting_.bytes()));
    waiting_.append(part);
    tokens = tokens.subspan(part.size());
    if (waiting_.bytes() == shard_bytes) write_shard();
  }
}

void SplitWriter::append(std::span<const uint32_t> numbers) {
  if (numbers.empty()) return;
  if (const TokenType type = type_for(std::ranges::max(numbers) + int64_t{1}); type > layout_.type) widen(type);
  narrowed_.clear();
  narrow_into(numbers, layout_.type, narrowed_);
  append(std::span<const std::byte>(narrowed_));
}

void SplitWriter::write_shard() {
  const auto index = static_cast<int64_t>(info_.shards.size());
  info_.shards.push_back(write(fmt::format("{}-{:05}.h5", info_.name, index), index, std::exchange(waiting_, {})));
  info_.tokens += info_.shards.back().tokens;
}

ShardInfo SplitWriter::write(const std::string& file, int64_t index, ShardBuffer tokens) const {
  const int64_t count = static_cast<int64_t>(tokens.bytes()) / bytes_of(layout_.type);
  ShardWriter shard(directory_ / file, {info_.name, index, layout_.type, count}, layout_.compression);
  tokens.take([&shard](std::span<const std::byte> piece) { shard.append(piece); });
  return {file, count, shard.finish()};
}

void SplitWriter::widen(TokenType type) {
  const TokenType before = std::exchange(layout_.type, type);
  for (size_t i = 0; i < info_.shards.size(); ++i) {
    ShardInfo& shard = info_.shards[i];
    const auto index = static_cast<int64_t>(i);
    shard = write(shard.file, index, read_widened(shard, index, before));
  }
  ShardBuffer wide;
  waiting_.take([&](std::span<const std::byte> piece) { wide.append(widened(piece, before, type)); });
  waiting_ = std::move(wide);
  checksum_.set_type(type);
}

ShardBuffer SplitWriter::read_widened(const ShardInfo& shard, int64_t index, TokenType before) const {
  constexpr int64_t kBlockTokens = 16 * kChunkTokens;
  ShardReader reader(directory_ / shard.file, {info_.name, index, before, shard.tokens});
  std::vector<std::byte> block;
  ShardBuffer wide;
  for (int64_t offset = 0; offset < shard.tokens; offset += kBlockTokens) {
    block.resize(static_cast<size_t>(std::min(kBlockTokens, shard.tokens - offset) * bytes_of(before)));
    reader.read_bytes(offset, block);
    wide.append(widened(block, before, layout_.type));
  }
  return wide;
}

const SplitInfo& SplitWriter::finish() {
  if (waiting_.bytes() > 0) write_shard();
  info_.checksum = checksum_.text();
  return info_;
}

RowInfo SplitWriter::finish_row() {
  finish();
  return {.type = layout_.type, .shards = info_.shards, .checksum = info_.checksum};
}

}  // namespace segue

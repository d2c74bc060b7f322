// Shards, one after the other.
#include "data_pipeline/split_writer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace segue {

SplitWriter::SplitWriter(std::filesystem::path directory, std::string name, const ShardLayout& layout)
    : directory_(std::move(directory)), layout_(layout), info_{.name = std::move(name)} {}

void SplitWriter::append(std::span<const std::byte> tokens) {
  const auto shard_bytes = static_cast<size_t>(layout_.shard_tokens * bytes_of(layout_.type));
  while (!tokens.empty()) {
    const std::span part = tokens.first(std::min(tokens.size(), shard_bytes - waiting_.size()));
    waiting_.insert(waiting_.end(), part.begin(), part.end());
    tokens = tokens.subspan(part.size());
    if (waiting_.size() == shard_bytes) write_shard();
  }
}

void SplitWriter::write_shard() {
  const auto index = static_cast<int64_t>(info_.shards.size());
  const int64_t tokens = std::ssize(waiting_) / bytes_of(layout_.type);
  const std::string file = fmt::format("{}-{:05}.h5", info_.name, index);
  ShardWriter shard(directory_ / file, {info_.name, index, layout_.type, tokens}, layout_.compression);
  shard.append(waiting_);
  info_.shards.push_back({file, tokens, shard.finish()});
  info_.tokens += tokens;
  waiting_.clear();
}

const SplitInfo& SplitWriter::finish() {
  if (!waiting_.empty()) write_shard();
  return info_;
}

}  // namespace segue

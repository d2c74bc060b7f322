// Shards, one after the other.
#include "data_pipeline/split_writer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace segue {

SplitWriter::SplitWriter(std::filesystem::path directory, std::string name, int64_t tokens, const ShardLayout& layout)
    : directory_(std::move(directory)), layout_(layout), info_{std::move(name), tokens, {}} {}

void SplitWriter::append(std::span<const std::byte> tokens) {
  const int64_t token_bytes = bytes_of(layout_.type);
  while (!tokens.empty()) {
    if (!shard_) begin_shard();
    const auto bytes = std::min(tokens.size(), static_cast<size_t>(shard_->missing() * token_bytes));
    shard_->append(tokens.first(bytes));
    written_ += static_cast<int64_t>(bytes) / token_bytes;
    tokens = tokens.subspan(bytes);
    if (shard_->missing() == 0) finish_shard();
  }
}

void SplitWriter::begin_shard() {
  if (missing() == 0) throw ContractError("split \"{}\": more than its {} tokens", info_.name, info_.tokens);
  const auto index = static_cast<int64_t>(info_.shards.size());
  const int64_t tokens = std::min(layout_.shard_tokens, missing());
  info_.shards.push_back({fmt::format("{}-{:05}.h5", info_.name, index), tokens, ""});
  shard_.emplace(directory_ / info_.shards.back().file, ShardIdentity{info_.name, index, layout_.type, tokens},
                 layout_.compression);
}

void SplitWriter::finish_shard() {
  info_.shards.back().checksum = shard_->finish();
  shard_.reset();
}

const SplitInfo& SplitWriter::info() const {
  if (missing() != 0) throw ContractError("split \"{}\": {} tokens are missing", info_.name, missing());
  return info_;
}

}  // namespace segue

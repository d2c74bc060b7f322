#include "data_pipeline/token_source.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace segue {
namespace {

// Well under the number of files a process may have open, above the number of shards of most datasets.
constexpr size_t kMostOpenShards = 128;

}  // namespace

TokenSource::TokenSource(std::filesystem::path directory, SplitInfo split, TokenType type, int64_t vocabulary,
                         int64_t unknown_token)
    : directory_(std::move(directory)),
      split_(std::move(split)),
      type_(type),
      vocabulary_(vocabulary),
      unknown_token_(unknown_token) {
  int64_t begin = 0;
  for (const ShardInfo& shard : split_.shards) {
    begins_.push_back(begin);
    begin += shard.tokens;
  }
  marks_ = row_beside(name_of_marks(split_.name), split_.marks);
  token_bytes_ = row_beside(name_of_token_bytes(split_.name), split_.token_bytes);
}

std::unique_ptr<TokenSource> TokenSource::row_beside(const std::string& name, const std::optional<RowInfo>& row) const {
  if (!row) return nullptr;
  SplitInfo numbers{.name = name, .tokens = split_.tokens, .shards = row->shards};
  return std::make_unique<TokenSource>(directory_, std::move(numbers), row->type, kLargestVocabulary);
}

std::string TokenSource::name() const { return fmt::format("{}: split \"{}\"", directory_.string(), split_.name); }

ShardReader& TokenSource::opened(size_t index) {
  const auto found =
      std::find_if(open_.begin(), open_.end(), [index](const auto& shard) { return shard.index == index; });
  if (found != open_.end()) return found->reader;
  if (open_.size() == kMostOpenShards) open_.pop_front();
  const ShardIdentity expected{split_.name, static_cast<int64_t>(index), type_, split_.shards[index].tokens};
  open_.push_back({index, ShardReader(path_of(index), expected)});
  return open_.back().reader;
}

void TokenSource::read(int64_t offset, std::span<int32_t> out) {
  if (offset < 0 || static_cast<int64_t>(out.size()) > tokens() - offset)
    throw ContractError("{}: {} tokens at {} of {}", name(), out.size(), offset, tokens());
  while (!out.empty()) {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), offset);
    const auto index = static_cast<size_t>(after - begins_.begin()) - 1;
    const int64_t within = offset - begins_[index];
    const int64_t count = std::min(static_cast<int64_t>(out.size()), split_.shards[index].tokens - within);
    const std::span<int32_t> part = out.first(static_cast<size_t>(count));
    opened(index).read(within, part);
    const auto largest = std::max_element(part.begin(), part.end());
    if (*largest >= vocabulary_)
      throw DataError("{}: token {} at {}, expected below the vocabulary of {}", path_of(index).string(), *largest,
                      within + (largest - part.begin()), vocabulary_);
    out = out.subspan(static_cast<size_t>(count));
    offset += count;
  }
}

void TokenSource::read_marks(int64_t offset, std::span<TokenMark> out) {
  if (marks_ == nullptr) throw ContractError("{}: marks of a split without any", name());
  read_marks_.resize(out.size());
  marks_->read(offset, read_marks_);
  for (size_t i = 0; i < out.size(); ++i) out[i] = {static_cast<uint32_t>(read_marks_[i])};
}

void TokenSource::read_bytes(int64_t offset, std::span<int32_t> out) {
  if (!has_bytes()) throw ContractError("{}: bytes of tokens that are not known", name());
  if (token_bytes_ != nullptr) return token_bytes_->read(offset, out);
  std::ranges::fill(out, 1);
}

}  // namespace segue

// Opening and verifying datasets.
#include "data_pipeline/dataset.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"

namespace segue {
namespace {

ShardReader open_shard(const Dataset& dataset, const SplitInfo& split, size_t index) {
  const ShardInfo& shard = split.shards[index];
  return {dataset.directory() / shard.file,
          {split.name, static_cast<int64_t>(index), dataset.manifest().token_type, shard.tokens}};
}

// `done` counts the tokens read, over all shards.
std::string checksum_of_shard(ShardReader reader, int64_t tokens, int64_t token_bytes, Progress& progress,
                              int64_t& done) {
  constexpr int64_t kBlockTokens = 8 * kChunkTokens;
  std::vector<std::byte> block(static_cast<size_t>(kBlockTokens * token_bytes));
  Checksum checksum;
  for (int64_t offset = 0; offset < tokens; offset += kBlockTokens) {
    const int64_t count = std::min(kBlockTokens, tokens - offset);
    const std::span<std::byte> part = std::span(block).first(static_cast<size_t>(count * token_bytes));
    reader.read_bytes(offset, part);
    checksum.update(part);
    progress.advance_to(done += count);
  }
  return checksum.text();
}

}  // namespace

Dataset::Dataset(std::filesystem::path directory)
    : directory_(std::move(directory)), manifest_(read_dataset_manifest(directory_)) {
  for (const SplitInfo& split : manifest_.splits)
    for (size_t i = 0; i < split.shards.size(); ++i) open_shard(*this, split, i);
  tokenizer_file();
}

std::string Dataset::tokenizer_file() const {
  const TokenizerInfo& info = manifest_.tokenizer;
  if (file_of(info.kind).empty()) return {};
  const std::filesystem::path path = directory_ / file_of(info.kind);
  if (!std::filesystem::exists(path)) throw DataError("{}: the tokenizer's file is missing", path.string());
  std::string text = read_file(path);
  const std::string found = checksum_of(std::as_bytes(std::span(text)));
  if (found != info.checksum)
    throw DataError("{}: expected checksum {}, found {}", path.string(), info.checksum, found);
  return text;
}

std::unique_ptr<Tokenizer> Dataset::tokenizer() const {
  const TokenizerInfo& info = manifest_.tokenizer;
  if (info.kind == TokenizerKind::kReadyMade) return nullptr;
  return load_tokenizer(info, tokenizer_file(), (directory_ / file_of(info.kind)).string());
}

int64_t Dataset::tokens() const {
  int64_t tokens = 0;
  for (const SplitInfo& split : manifest_.splits) tokens += split.tokens;
  return tokens;
}

bool Dataset::has_split(std::string_view name) const {
  return std::any_of(manifest_.splits.begin(), manifest_.splits.end(),
                     [name](const SplitInfo& split) { return split.name == name; });
}

std::string Dataset::identity(std::string_view split) const {
  Checksum checksum;
  for (const SplitInfo& info : manifest_.splits) {
    if (info.name != split) continue;
    for (const ShardInfo& shard : info.shards) checksum.update(std::as_bytes(std::span(shard.checksum)));
  }
  return checksum.text();
}

TokenSource Dataset::split(std::string_view name) const {
  return {directory_, split_info(name), manifest_.token_type, vocabulary()};
}

const SplitInfo& Dataset::split_info(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const SplitInfo& split : manifest_.splits) {
    if (split.name == name) return split;
    names.emplace_back(split.name);
  }
  throw DataError("{}: expected a split \"{}\", found only {}", directory_.string(), name, fmt::join(names, ", "));
}

void Dataset::verify(bool quiet) const {
  Progress progress("verify", tokens(), "M tokens", 1e6, quiet);
  int64_t done = 0;
  for (const SplitInfo& split : manifest_.splits)
    for (size_t i = 0; i < split.shards.size(); ++i) {
      const ShardInfo& shard = split.shards[i];
      const std::string found =
          checksum_of_shard(open_shard(*this, split, i), shard.tokens, bytes_of(manifest_.token_type), progress, done);
      if (found != shard.checksum)
        throw DataError("{}: expected checksum {}, found {}", (directory_ / shard.file).string(), shard.checksum,
                        found);
    }
  progress.finish();
}

}  // namespace segue

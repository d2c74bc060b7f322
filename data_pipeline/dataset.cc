#include "data_pipeline/dataset.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "data_pipeline/token_checksum.h"

namespace segue {
namespace {

std::vector<ShardRow> rows_of(const DatasetManifest& manifest) {
  std::vector<ShardRow> rows;
  for (const SplitInfo& split : manifest.splits)
    for (const ShardRow& row : rows_of(split, manifest.token_type)) rows.push_back(row);
  return rows;
}

ShardReader open_shard(const Dataset& dataset, const ShardRow& row, size_t index) {
  const ShardInfo& shard = row.shards[index];
  return {dataset.directory() / shard.file, {row.name, static_cast<int64_t>(index), row.type, shard.tokens}};
}

// What reading a row of shards adds to.
struct RowReading {
  TokenChecksum& checksum;
  Progress& progress;
  int64_t& done;  // tokens, over all shards
};

// The checksum of the shard.
std::string read_shard(const Dataset& dataset, const ShardRow& row, size_t index, const RowReading& reading) {
  constexpr int64_t kBlockTokens = 8 * kChunkTokens;
  ShardReader reader = open_shard(dataset, row, index);
  const int64_t tokens = row.shards[index].tokens;
  const int64_t token_bytes = bytes_of(row.type);
  std::vector<std::byte> block(static_cast<size_t>(kBlockTokens * token_bytes));
  Checksum checksum;
  for (int64_t offset = 0; offset < tokens; offset += kBlockTokens) {
    const int64_t count = std::min(kBlockTokens, tokens - offset);
    const std::span<std::byte> part = std::span(block).first(static_cast<size_t>(count * token_bytes));
    reader.read_bytes(offset, part);
    checksum.update(part);
    reading.checksum.update(part);
    reading.progress.advance_to(reading.done += count);
  }
  return checksum.text();
}

}  // namespace

void SourcePlace::describe(JsonFields& fields) {
  fields.required("sources", sources, {.meaning = "a checksum of the sources' checksums"});
  fields.required("begin", begin,
                  {.meaning = "bytes of text in earlier splits that have one of these sources", .minimum = 0});
  fields.required("bytes", bytes, {.meaning = "bytes of text", .minimum = 0});
}

Dataset::Dataset(std::filesystem::path directory)
    : directory_(std::move(directory)), manifest_(read_dataset_manifest(directory_)) {
  for (const ShardRow& row : rows_of(manifest_))
    for (size_t i = 0; i < row.shards.size(); ++i) open_shard(*this, row, i);
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

namespace {

void add_text(Checksum& checksum, const std::string& text) { checksum.update(std::as_bytes(std::span(text))); }

void add_lengths(Checksum& checksum, const SplitInfo& info) {
  if (!info.examples) return;
  for (const ExampleRun& run : *info.examples) {
    const std::array<int64_t, 2> extents{run.count, run.tokens};
    checksum.update(std::as_bytes(std::span(extents)));
  }
}

std::string by_tokens(const SplitInfo& info, const std::string& tokens, const std::string& marks) {
  Checksum checksum;
  add_text(checksum, tokens);
  add_text(checksum, marks);
  add_lengths(checksum, info);
  return std::string(kByTokens) + checksum.text();
}

bool knows_checksums(const SplitInfo& info) { return info.checksum && (!info.marks || info.marks->checksum); }

}  // namespace

std::string Dataset::identity(std::string_view split) const {
  const SplitInfo& info = split_info(split);
  if (!knows_checksums(info)) return checksum(split);
  return by_tokens(info, *info.checksum, info.marks ? *info.marks->checksum : "");
}

std::string Dataset::checksum(std::string_view split) const {
  const SplitInfo& info = split_info(split);
  Checksum all;
  for (const ShardInfo& shard : info.shards) add_text(all, shard.checksum);
  if (info.marks)
    for (const ShardInfo& shard : info.marks->shards) add_text(all, shard.checksum);
  add_lengths(all, info);
  return all.text();
}

std::optional<SourcePlace> Dataset::text_place(std::string_view split) const {
  const auto has_text_of = [](const SourceInfo& source, std::string_view name) {
    return !source.is_beside.value_or(false) && std::ranges::find(source.splits, name) != source.splits.end();
  };
  const auto shares_source = [&](const SplitInfo& other) {
    return std::ranges::any_of(manifest_.sources, [&](const SourceInfo& source) {
      return has_text_of(source, split) && has_text_of(source, other.name);
    });
  };
  SourcePlace place{.bytes = split_info(split).bytes};
  Checksum checksum;
  bool has_sources = false;
  for (const SourceInfo& source : manifest_.sources) {
    if (!has_text_of(source, split)) continue;
    add_text(checksum, source.checksum);
    has_sources = true;
  }
  if (place.bytes == 0 || !has_sources) return std::nullopt;
  place.sources = checksum.text();
  for (const SplitInfo& earlier : manifest_.splits) {
    if (earlier.name == split) break;
    if (shares_source(earlier)) place.begin += earlier.bytes;
  }
  return place;
}

bool Dataset::has_identity(std::string_view split, const std::string& other) const {
  if (other == identity(split) || other == checksum(split)) return true;
  const SplitInfo& info = split_info(split);
  if (!other.starts_with(kByTokens) || knows_checksums(info)) return false;
  std::array<std::string, 2> found;
  for (const ShardRow& row : rows_of(manifest_)) {
    if (row.name != info.name && (!info.marks || row.name != name_of_marks(info.name))) continue;
    Progress progress("compare tokens", info.tokens, "M tokens", 1e6, true);
    int64_t done = 0;
    TokenChecksum of_row(row.type);
    for (size_t i = 0; i < row.shards.size(); ++i) read_shard(*this, row, i, {of_row, progress, done});
    found.at(row.name == info.name ? size_t{0} : size_t{1}) = of_row.text();
  }
  return other == by_tokens(info, found[0], found[1]);
}

TokenSource Dataset::split(std::string_view name) const {
  return {directory_, split_info(name), manifest_.token_type, vocabulary(), manifest_.tokenizer.unknown_token};
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
  const std::vector<ShardRow> rows = rows_of(manifest_);
  int64_t all = 0;
  for (const ShardRow& row : rows)
    for (const ShardInfo& shard : row.shards) all += shard.tokens;
  Progress progress("verify", all, "M tokens", 1e6, quiet);
  int64_t done = 0;
  for (const ShardRow& row : rows) {
    TokenChecksum of_row(row.type);
    for (size_t i = 0; i < row.shards.size(); ++i) {
      const ShardInfo& shard = row.shards[i];
      const std::string found = read_shard(*this, row, i, {of_row, progress, done});
      if (found != shard.checksum)
        throw DataError("{}: expected checksum {}, found {}", (directory_ / shard.file).string(), shard.checksum,
                        found);
    }
    if (row.checksum && *row.checksum != of_row.text())
      throw DataError("{}: expected checksum {} of {}, found {}", (directory_ / kManifestFile).string(), *row.checksum,
                      row.name, of_row.text());
  }
  progress.finish();
}

}  // namespace segue

// The lines of `segue inspect` on a dataset.
#include "data_pipeline/describe.h"

#include <algorithm>

#include "base/text.h"

namespace segue {
namespace {

int64_t bytes_on_disk(const Dataset& dataset, const SplitInfo& split) {
  int64_t bytes = 0;
  for (const ShardInfo& shard : split.shards)
    bytes += static_cast<int64_t>(std::filesystem::file_size(dataset.directory() / shard.file));
  return bytes;
}

std::string describe_split(const Dataset& dataset, const SplitInfo& split) {
  std::string text = fmt::format("split {}: {} tokens in {} {}, {} on disk\n", split.name, human_count(split.tokens),
                                 split.shards.size(), split.shards.size() == 1 ? "shard" : "shards",
                                 human_bytes(bytes_on_disk(dataset, split)));
  for (const ShardInfo& shard : split.shards)
    text += fmt::format("  {}  {} tokens  {}\n", shard.file, human_count(shard.tokens), shard.checksum);
  return text;
}

std::string describe_source(const SourceInfo& source) {
  return fmt::format("source {}: {}, {}, in {}\n", source.file, human_bytes(source.bytes), source.checksum,
                     fmt::join(source.splits, ", "));
}

}  // namespace

std::string describe(const Dataset& dataset) {
  const DatasetManifest& manifest = dataset.manifest();
  std::string text = fmt::format("dataset {}\n", dataset.directory().string());
  text += fmt::format("tokens: {}, {}, vocabulary {}\n", name_of_choice(manifest.tokenizer.kind),
                      name_of(manifest.token_type), human_count(manifest.tokenizer.vocabulary));
  if (manifest.separator >= 0) text += fmt::format("separator between sources: {}\n", manifest.separator);
  for (const SplitInfo& split : manifest.splits) text += describe_split(dataset, split);
  for (const SourceInfo& source : manifest.sources) text += describe_source(source);
  if (!manifest.command.empty()) text += fmt::format("made by: {}\n", manifest.command);
  return text;
}

}  // namespace segue

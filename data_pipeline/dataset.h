// A dataset on disk, opened for reading.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/token_source.h"
#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

class Dataset {
 public:
  // Reads the manifest and the tokenizer's file, and opens every shard once: DataError when one of them is missing or
  // is not what the manifest says.
  explicit Dataset(std::filesystem::path directory);

  const std::filesystem::path& directory() const { return directory_; }
  const DatasetManifest& manifest() const { return manifest_; }
  int64_t vocabulary() const { return manifest_.tokenizer.vocabulary; }
  int64_t tokens() const;  // of all splits

  // The content of the tokenizer's file; empty for kinds that have none.
  std::string tokenizer_file() const;
  // Null for ready-made tokens.
  std::unique_ptr<Tokenizer> tokenizer() const;

  bool has_split(std::string_view name) const;
  // DataError naming the splits there are when there is none of this name.
  TokenSource split(std::string_view name) const;
  const SplitInfo& split_info(std::string_view name) const;
  // The same for the same tokens in the same order, wherever the dataset lies: a checksum of the shards' checksums,
  // with those of its marks and the lengths of its examples.
  std::string identity(std::string_view split) const;

  // Reads everything and compares checksums; DataError at the first damaged shard. Shows progress unless `quiet`.
  void verify(bool quiet) const;

 private:
  std::filesystem::path directory_;
  DatasetManifest manifest_;
};

}  // namespace segue

// A dataset on disk, opened for reading.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/token_source.h"
#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

constexpr std::string_view kByTokens = "tokens:";  // how an identity begins that does not depend on shards

// Where a text stands: the same for datasets that cut the same sources into different tokens.
struct SourcePlace {
  std::string sources = {};  // a checksum of theirs
  int64_t begin = 0;         // bytes of text in earlier splits that have one of these sources
  int64_t bytes = 0;
  void describe(JsonFields& fields);
};

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
  // The same for the same tokens in the same order, wherever the dataset lies and whatever shards and type they have: a
  // checksum of theirs, of their marks' and of the lengths of their examples, behind kByTokens. Of a dataset whose
  // manifest does not know these, checksum().
  std::string identity(std::string_view split) const;
  // Of the shards' checksums, those of its marks, and the lengths of its examples: what identity() was before.
  std::string checksum(std::string_view split) const;
  // None where no bytes or no sources are known.
  std::optional<SourcePlace> text_place(std::string_view split) const;
  // Whether `other`, an identity of any version, is that of this split. Reads it where there is no other way to know.
  bool has_identity(std::string_view split, const std::string& other) const;

  // Reads everything and compares checksums; DataError at the first damaged shard. Shows progress unless `quiet`.
  void verify(bool quiet) const;

 private:
  std::filesystem::path directory_;
  DatasetManifest manifest_;
};

}  // namespace segue

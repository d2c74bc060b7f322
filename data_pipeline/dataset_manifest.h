// The manifest of a dataset: what `manifest.json` says about the shards beside it.
//
// It is written last, so a directory that has one is whole. Nothing in it is believed before it is checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fields.h"
#include "data_pipeline/token_type.h"
#include "data_pipeline/tokenizer/tokenizer_info.h"

namespace segue {

constexpr std::string_view kManifestFile = "manifest.json";

struct ShardInfo {
  std::string file;
  int64_t tokens = 0;
  std::string checksum;
  void describe(JsonFields& fields);
};

// A number for every token of a split, in shards of their own.
struct RowInfo {
  TokenType type = TokenType::kUInt8;
  std::vector<ShardInfo> shards = {};
  std::optional<std::string> checksum = {};  // of all of them, as of a split's tokens
  void describe(JsonFields& fields);
};

// What examples have in common, such as 16 pairs.
struct ExampleTrait {
  std::string name;
  int64_t value = 0;
  void describe(JsonFields& fields);
  bool operator==(const ExampleTrait&) const = default;
};

// Examples of one length, one after another. Nothing is remembered from one to the next.
struct ExampleRun {
  int64_t count = 0;
  int64_t tokens = 0;  // of each
  std::vector<ExampleTrait> traits = {};
  void describe(JsonFields& fields);
};

struct SplitInfo {
  std::string name;
  int64_t tokens = 0;
  std::vector<ShardInfo> shards = {};
  int64_t bytes = 0;                                     // of text that the tokens stand for; 0: not known
  int64_t unknown = 0;                                   // tokens that stand for what is not in the vocabulary
  std::optional<std::string> checksum = {};              // of all tokens (token_checksum.h); none: not known
  std::optional<RowInfo> token_bytes = {};               // of text, of each token; none: all one, or not known
  std::optional<RowInfo> marks = {};                     // token_mark.h; none: every token is scored
  std::optional<std::vector<ExampleRun>> examples = {};  // none: the split is one text
  void describe(JsonFields& fields);

  // Of its examples, or of the one text that it is.
  std::vector<ExampleRun> runs() const { return examples ? *examples : std::vector{ExampleRun{1, tokens, {}}}; }
};

// The names under which the shards of a split's marks, and of its tokens' bytes, know each other.
std::string name_of_marks(const std::string& split);
std::string name_of_token_bytes(const std::string& split);

// Shards that follow one another: the tokens of a split, or a row of numbers beside them.
struct ShardRow {
  std::string name;
  TokenType type;
  const std::vector<ShardInfo>& shards;
  const std::optional<std::string>& checksum;  // of all of them
};
// Those of a split that outlives them.
std::vector<ShardRow> rows_of(const SplitInfo& split, TokenType token_type);

struct SourceInfo {
  std::string file;
  int64_t bytes = 0;
  std::string checksum;
  std::vector<std::string> splits;     // those that hold a part of it
  std::optional<bool> is_beside = {};  // true: it holds no text and no tokens, but what goes with them, such as marks
  void describe(JsonFields& fields);
};

struct DatasetManifest {
  std::string format = "segue-dataset";
  int64_t version = 1;
  TokenizerInfo tokenizer;
  TokenType token_type = TokenType::kUInt8;
  int64_t separator = -1;                          // token between source files; -1: none
  std::optional<std::string> separator_text = {};  // the same as text, with its escapes (unescaped())
  std::vector<SplitInfo> splits;
  std::vector<SourceInfo> sources;
  std::optional<std::string> task;  // that it was generated for
  std::string command;              // that created the dataset
  void describe(JsonFields& fields);
};

// Throws DataError naming `source`, the JSON path, expected and found: besides what read_fields() refuses, an unknown
// format or version, counts that do not add up, names that are no plain file names or occur twice.
DatasetManifest parse_dataset_manifest(std::string_view text, std::string_view source);
DatasetManifest read_dataset_manifest(const std::filesystem::path& directory);

// Throws UsageError, naming `source`, for more sources or shards than a manifest that can be read again has room for.
void check_manifest_size(const DatasetManifest& manifest, std::string_view source);

std::string dataset_manifest_text(const DatasetManifest& manifest);

}  // namespace segue

#include "data_pipeline/dataset_manifest.h"

#include <algorithm>
#include <set>

#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace segue {
namespace {

constexpr int64_t kVersion = 1;

// Beyond any disk, and far enough from the end of int64_t that no sum of two overflows.
constexpr double kMostTokens = 1e15;

constexpr size_t kLongestSplitName = 64;

// Room for some 300,000 sources; more do not fit into a command line.
constexpr JsonLimits kLimits{.max_bytes = int64_t{64} << 20};

// A name that stays inside the dataset's directory, on one line.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

// Raises the errors of one manifest, all in the form of the JSON reader's.
class Checks {
 public:
  explicit Checks(std::string_view source) : source_(source) {}

  void run(const DatasetManifest& manifest) {
    require(manifest.format == "segue-dataset", "format", "\"segue-dataset\"", quoted(manifest.format));
    require(manifest.version == kVersion, "version", std::to_string(kVersion), std::to_string(manifest.version));
    check_tokenizer(manifest);
    require(!manifest.splits.empty(), "splits", "at least one split", "a list of 0");
    for (size_t i = 0; i < manifest.splits.size(); ++i)
      check_split(manifest.splits[i], manifest.tokenizer.kind, fmt::format("splits[{}]", i));
    for (size_t i = 0; i < manifest.sources.size(); ++i)
      check_checksum(manifest.sources[i].checksum, fmt::format("sources[{}]", i));
  }

 private:
  void require(bool holds, const std::string& path, std::string_view expected, const std::string& found) const {
    if (!holds) throw DataError("{}: {}: expected {}, found {}", source_, path, expected, found);
  }

  static std::string quoted(const std::string& text) { return describe_json(Json(text)); }

  void check_tokenizer(const DatasetManifest& manifest) const {
    const int64_t largest = largest_vocabulary(manifest.token_type);
    require(manifest.tokenizer.vocabulary <= largest, "tokenizer.vocabulary",
            fmt::format("at most {} for {} tokens", largest, name_of(manifest.token_type)),
            std::to_string(manifest.tokenizer.vocabulary));
    if (const auto complaint = first_complaint(manifest.tokenizer))
      require(false, "tokenizer." + complaint->path, complaint->expected, complaint->found);
  }

  void check_split(const SplitInfo& split, TokenizerKind kind, const std::string& path) {
    require(is_plain_name(split.name) && split.name.size() <= kLongestSplitName, path + ".name",
            "a short name of letters, digits, '-', '_' and '.'", quoted(split.name));
    require(split_names_.insert(split.name).second, path + ".name", "a name of its own", quoted(split.name));
    check_shards(split.shards, split.tokens, path);
    if (split.checksum) check_checksum(*split.checksum, path);
    if (split.marks && split.marks->checksum) check_checksum(*split.marks->checksum, path + ".marks");
    total_tokens_ += split.tokens;
    require(static_cast<double>(total_tokens_) <= kMostTokens, path + ".tokens",
            fmt::format("at most {} in all splits", kMostTokens), std::to_string(split.tokens));
    check_text(split, kind, path);
    if (split.token_bytes) check_shards(split.token_bytes->shards, split.tokens, path, ".token_bytes");
    if (split.marks) check_shards(split.marks->shards, split.tokens, path, ".marks");
    if (split.examples) check_examples(split, path);
  }

  // `of`: of the split's tokens, or of a row beside them.
  void check_shards(const std::vector<ShardInfo>& shards, int64_t expected, const std::string& split,
                    const std::string& of = "") {
    int64_t tokens = 0;
    for (size_t i = 0; i < shards.size(); ++i) {
      check_shard(shards[i], fmt::format("{}{}.shards[{}]", split, of, i));
      tokens += shards[i].tokens;
      if (tokens > expected) break;
    }
    const std::string whose = of.empty() ? "its shards'" : fmt::format("its {} shards'", of.substr(1));
    require(tokens <= expected, split + ".tokens", fmt::format("the sum of {} tokens", whose),
            std::to_string(expected));
    require(tokens == expected, split + ".tokens", fmt::format("{}, the sum of {} tokens", tokens, whose),
            std::to_string(expected));
  }

  void check_examples(const SplitInfo& split, const std::string& path) const {
    double tokens = 0.0;
    for (const ExampleRun& run : *split.examples)
      tokens += static_cast<double>(run.count) * static_cast<double>(run.tokens);
    require(tokens == static_cast<double>(split.tokens), path + ".examples",
            fmt::format("examples of {} tokens in all", split.tokens), fmt::format("{:.0f}", tokens));
  }

  void check_text(const SplitInfo& split, TokenizerKind kind, const std::string& path) const {
    if (kind == TokenizerKind::kByte)
      require(split.bytes == split.tokens, path + ".bytes", fmt::format("{}, one for each token", split.tokens),
              std::to_string(split.bytes));
    require(split.unknown <= split.tokens, path + ".unknown", fmt::format("at most the {} tokens", split.tokens),
            std::to_string(split.unknown));
    require(!split.token_bytes || split.bytes > 0, path + ".bytes", "those of token_bytes", "0");
  }

  void check_shard(const ShardInfo& shard, const std::string& path) {
    require(is_plain_name(shard.file), path + ".file", "a file name of letters, digits, '-', '_' and '.'",
            quoted(shard.file));
    require(shard_files_.insert(shard.file).second, path + ".file", "a file of its own", quoted(shard.file));
    check_checksum(shard.checksum, path);
  }

  void check_checksum(const std::string& checksum, const std::string& path) const {
    require(is_checksum(checksum), path + ".checksum", "\"xxh3:\" and 32 hexadecimal digits", quoted(checksum));
  }

  std::string_view source_;
  std::set<std::string> split_names_;
  std::set<std::string> shard_files_;
  int64_t total_tokens_ = 0;
};

}  // namespace

void ShardInfo::describe(JsonFields& fields) {
  fields.required("file", file, {.meaning = "name of the shard beside the manifest"});
  fields.required("tokens", tokens,
                  {.meaning = "tokens in the shard", .unit = "tokens", .minimum = 1, .maximum = kMostTokens});
  fields.required("checksum", checksum, {.meaning = "XXH3 of the shard's token bytes"});
}

void SplitInfo::describe(JsonFields& fields) {
  fields.required("name", name, {.meaning = "train, valid, test or another name"});
  fields.required("tokens", tokens,
                  {.meaning = "tokens in the split", .unit = "tokens", .minimum = 1, .maximum = kMostTokens});
  fields.required("shards", shards, {.meaning = "the files that hold the split, in order"});
  fields.optional("bytes", bytes,
                  {.meaning = "bytes of text that the tokens stand for; 0: not known",
                   .unit = "bytes",
                   .minimum = 0,
                   .maximum = 8 * kMostTokens});
  fields.optional("unknown", unknown,
                  {.meaning = "tokens that stand for what is not in the vocabulary",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kMostTokens});
  fields.optional("checksum", checksum, {.meaning = "XXH3 of all tokens as uint32, whatever shards they lie in"});
  fields.optional("token_bytes", token_bytes,
                  {.meaning = "bytes of text that each token stands for; without it, one where bytes are as many as "
                              "tokens, else not known"});
  fields.optional("marks", marks, {.meaning = "which tokens are scored; without it, all are"});
  fields.optional("examples", examples,
                  {.meaning = "lengths of the examples that the split is made of; without it, it is one text"});
}

std::string name_of_marks(const std::string& split) { return split + "-marks"; }
std::string name_of_token_bytes(const std::string& split) { return split + "-bytes"; }

std::vector<ShardRow> rows_of(const SplitInfo& split, TokenType token_type) {
  std::vector<ShardRow> rows{{split.name, token_type, split.shards, split.checksum}};
  if (split.token_bytes)
    rows.push_back({name_of_token_bytes(split.name), split.token_bytes->type, split.token_bytes->shards,
                    split.token_bytes->checksum});
  if (split.marks)
    rows.push_back({name_of_marks(split.name), split.marks->type, split.marks->shards, split.marks->checksum});
  return rows;
}

void RowInfo::describe(JsonFields& fields) {
  fields.required("type", type, {.meaning = "type of the numbers in the shards"});
  fields.required("shards", shards, {.meaning = "the files that hold a number for every token, in order"});
  fields.optional("checksum", checksum, {.meaning = "XXH3 of all of them as uint32, whatever shards they lie in"});
}

void ExampleTrait::describe(JsonFields& fields) {
  fields.required("name", name, {.meaning = "what is counted"});
  fields.required("value", value, {.meaning = "how many or how much of it every example has"});
}

void ExampleRun::describe(JsonFields& fields) {
  fields.required("count", count, {.meaning = "examples", .minimum = 1, .maximum = kMostTokens});
  fields.required("tokens", tokens,
                  {.meaning = "tokens of each", .unit = "tokens", .minimum = 2, .maximum = kMostTokens});
  fields.optional("traits", traits, {.meaning = "what these examples have in common"});
}

void SourceInfo::describe(JsonFields& fields) {
  fields.required("file", file, {.meaning = "path of the source file as it was given"});
  fields.required("bytes", bytes,
                  {.meaning = "size of the source file", .unit = "bytes", .minimum = 1, .maximum = 8 * kMostTokens});
  fields.required("checksum", checksum, {.meaning = "XXH3 of the source file"});
  fields.required("splits", splits, {.meaning = "the splits that hold a part of the file"});
  fields.optional("is_beside", is_beside,
                  {.meaning = "true: no file of text or tokens, but of what goes with them: an index, marks, a table"});
}

void DatasetManifest::describe(JsonFields& fields) {
  fields.required("format", format, {.meaning = "always \"segue-dataset\""});
  fields.required("version", version, {.meaning = "version of the format"});
  fields.required("tokenizer", tokenizer, {.meaning = "how text became tokens"});
  fields.required("token_type", token_type, {.meaning = "type of the tokens in the shards"});
  fields.optional("separator", separator,
                  {.meaning = "token between source files; -1: none",
                   .minimum = -1,
                   .maximum = static_cast<double>(kLargestVocabulary)});
  fields.optional("separator_text", separator_text,
                  {.meaning = "text between source files, with its escapes; none: no text"});
  fields.required("splits", splits, {.meaning = "the parts of the dataset"});
  fields.required("sources", sources, {.meaning = "the files the dataset was made from"});
  fields.optional("task", task, {.meaning = "the synthetic task that it was generated for"});
  fields.optional("command", command, {.meaning = "the command that made the dataset"});
}

namespace {

// Manifests of bytes written before text was counted: it is as long as its tokens are many.
void complete_bytes(DatasetManifest& manifest) {
  for (SplitInfo& split : manifest.splits)
    if (split.bytes == 0) split.bytes = split.tokens;
}

}  // namespace

DatasetManifest parse_dataset_manifest(std::string_view text, std::string_view source) {
  const Json document = parse_json<DataError>(text, source, kLimits);
  if (kind_of(document) == DocumentKind::kDataset) check_not_newer(document, source, kVersion, &raise_as<DataError>);
  auto manifest = read_fields<DataError, DatasetManifest>(document, source);
  if (manifest.tokenizer.kind == TokenizerKind::kByte) complete_bytes(manifest);
  Checks(source).run(manifest);
  return manifest;
}

DatasetManifest read_dataset_manifest(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kManifestFile;
  std::error_code error;  // what cannot be looked at fails when it is opened
  if (!std::filesystem::exists(directory, error) && !error)
    throw DataError("{}: there is no such dataset{}", directory.string(),
                    meant_beside(directory, DirectoryKind::kDataset));
  if (const auto whole = whole_of_file(directory); whole && whole->kind == "a dataset")
    throw DataError("{}: expected a dataset's directory, found a file in it{}", directory.string(),
                    did_you_mean(shell_word(whole->directory.string())));
  if (!error && !std::filesystem::is_directory(directory, error))
    throw DataError("{}: expected a dataset's directory, found {}", directory.string(), describe_path(directory));
  if (!std::filesystem::exists(path, error) && !error)
    throw DataError("{}: not a dataset: {} is missing; found {}", directory.string(), kManifestFile,
                    describe_path(directory));
  return parse_dataset_manifest(read_file(path), path.string());
}

void check_manifest_size(const DatasetManifest& manifest, std::string_view source) {
  constexpr int64_t kValuesBesides = 1000;  // the symbols of a tokenizer among them
  int64_t shards = 0;
  for (const SplitInfo& split : manifest.splits)
    for (const ShardRow& row : rows_of(split, manifest.token_type)) shards += std::ssize(row.shards);
  int64_t values = kValuesBesides + 4 * shards;
  for (const SourceInfo& info : manifest.sources) values += 5 + std::ssize(info.splits) + (info.is_beside ? 1 : 0);
  const int64_t bytes = values > kLimits.max_values ? 0 : std::ssize(dataset_manifest_text(manifest));
  if (values > kLimits.max_values || bytes > kLimits.max_bytes)
    throw UsageError(
        "{}: {} sources and {} shards are more than the manifest has room for: expected at most {} values "
        "and {}; join sources, or make larger shards",
        source, human_count(std::ssize(manifest.sources)), human_count(shards), human_count(kLimits.max_values),
        human_bytes(kLimits.max_bytes));
}

std::string dataset_manifest_text(const DatasetManifest& manifest) { return format_json(write_fields(manifest)); }

}  // namespace segue

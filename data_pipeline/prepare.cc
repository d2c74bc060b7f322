// The path from source files to a finished dataset.
#include "data_pipeline/prepare.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/prepare_plan.h"
#include "data_pipeline/source_reader.h"
#include "data_pipeline/split_writer.h"
#include "data_pipeline/staged_directory.h"

namespace segue {
namespace {

static_assert(std::endian::native == std::endian::little, "token files and shards are little-endian");

// An empty directory is as good as none; --force replaces a dataset, never something else of the same name.
void check_output(const PrepareOptions& options) {
  const std::filesystem::path& output = options.output;
  if (output.empty()) throw UsageError("output: expected a directory, found an empty path");
  if (!std::filesystem::exists(output)) return;
  if (!std::filesystem::is_directory(output)) throw DataError("{}: exists and is not a directory", output.string());
  if (std::filesystem::is_empty(output)) return;
  if (!std::filesystem::exists(output / kManifestFile))
    throw DataError("{}: exists and is not a dataset; choose another output", output.string());
  if (!options.force) throw DataError("{}: the dataset exists; --force replaces it", output.string());
}

// Hands the tokens of a corpus to its splits, in order.
class CorpusWriter {
 public:
  CorpusWriter(const Corpus& corpus, std::filesystem::path directory, const ShardLayout& layout)
      : splits_(corpus.splits), directory_(std::move(directory)), layout_(layout) {}

  void append(std::span<const std::byte> tokens) {
    const int64_t token_bytes = bytes_of(layout_.type);
    while (!tokens.empty()) {
      if (!split_) begin_split();
      const auto bytes = std::min(tokens.size(), static_cast<size_t>(split_->missing() * token_bytes));
      split_->append(tokens.first(bytes));
      tokens = tokens.subspan(bytes);
      if (split_->missing() == 0) finish_split();
    }
  }

  const std::vector<SplitInfo>& finished() const { return finished_; }

 private:
  void begin_split() {
    const PlannedSplit& next = splits_[finished_.size()];
    split_.emplace(directory_, next.name, next.end - next.begin, layout_);
  }

  void finish_split() {
    finished_.push_back(split_->info());
    split_.reset();
  }

  std::vector<PlannedSplit> splits_;
  std::filesystem::path directory_;
  ShardLayout layout_;
  std::optional<SplitWriter> split_;
  std::vector<SplitInfo> finished_;
};

// Writes the shards of all corpora and collects what the manifest says.
class Preparation {
 public:
  Preparation(const PrepareOptions& options, const std::vector<Corpus>& corpora, std::filesystem::path directory)
      : options_(options),
        directory_(std::move(directory)),
        type_(token_type_of(options.format)),
        progress_("prepare", bytes_of_corpora(corpora), "MB", 1e6, options.quiet) {}

  DatasetManifest run(const std::vector<Corpus>& corpora) {
    for (const Corpus& corpus : corpora) write(corpus);
    progress_.finish();
    const bool text = options_.format == SourceFormat::kText;
    manifest_.tokenizer.kind = text ? TokenizerKind::kByte : TokenizerKind::kReadyMade;
    manifest_.tokenizer.vocabulary = text ? 256 : options_.vocabulary.value_or(largest_ + 1);
    manifest_.token_type = type_;
    manifest_.separator = options_.separator.value_or(-1);
    manifest_.command = options_.command;
    return std::move(manifest_);
  }

 private:
  static int64_t bytes_of_corpora(const std::vector<Corpus>& corpora) {
    int64_t bytes = 0;
    for (const Corpus& corpus : corpora)
      for (const PlannedFile& file : corpus.files) bytes += file.bytes;
    return bytes;
  }

  void write(const Corpus& corpus) {
    CorpusWriter writer(corpus, directory_, {type_, options_.shard_tokens, options_.compression});
    for (const PlannedFile& file : corpus.files) {
      if (&file != &corpus.files.front()) append_separator(writer);
      append_file(writer, file);
    }
    manifest_.splits.insert(manifest_.splits.end(), writer.finished().begin(), writer.finished().end());
  }

  void append_separator(CorpusWriter& writer) {
    if (!options_.separator) return;
    const auto token = static_cast<uint32_t>(*options_.separator);
    writer.append(std::as_bytes(std::span(&token, 1)).first(static_cast<size_t>(bytes_of(type_))));
    largest_ = std::max(largest_, *options_.separator);
  }

  void append_file(CorpusWriter& writer, const PlannedFile& file) {
    SourceReader reader(file, type_, options_.vocabulary.value_or(largest_vocabulary(type_)));
    for (std::span<const std::byte> tokens = reader.next(); !tokens.empty(); tokens = reader.next()) {
      writer.append(tokens);
      progress_.advance_to(done_ += static_cast<int64_t>(tokens.size()));
    }
    largest_ = std::max(largest_, reader.largest_token());
    manifest_.sources.push_back({file.path.string(), file.bytes, reader.checksum(), file.splits});
  }

  const PrepareOptions& options_;
  std::filesystem::path directory_;
  TokenType type_;
  Progress progress_;
  int64_t done_ = 0;     // bytes read
  int64_t largest_ = 0;  // token so far
  DatasetManifest manifest_;
};

std::string summary(const DatasetManifest& manifest) {
  std::string text;
  for (const SplitInfo& split : manifest.splits)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", split.name, human_count(split.tokens));
  return fmt::format("{} tokens, vocabulary {}", text, human_count(manifest.tokenizer.vocabulary));
}

}  // namespace

TokenType token_type_of(SourceFormat format) {
  switch (format) {
    case SourceFormat::kText:
      return TokenType::kUInt8;
    case SourceFormat::kUInt16:
      return TokenType::kUInt16;
    case SourceFormat::kUInt32:
      return TokenType::kUInt32;
  }
  throw ContractError("source format {} is unknown", static_cast<int>(format));
}

void prepare(const PrepareOptions& options, Logger& logger) {
  const std::vector<Corpus> corpora = plan_corpora(options);
  check_output(options);
  StagedDirectory staged(options.output);
  const DatasetManifest manifest = Preparation(options, corpora, staged.path()).run(corpora);
  write_file_atomically(staged.path() / kManifestFile, dataset_manifest_text(manifest));
  staged.commit();
  logger.info("{}: {}", options.output.string(), summary(manifest));
}

}  // namespace segue

#include "data_pipeline/prepare.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "data_pipeline/choose_tokenizer.h"
#include "data_pipeline/corpus_pass.h"
#include "data_pipeline/dataset_manifest.h"
#include "data_pipeline/dataset_output.h"
#include "data_pipeline/prepare_plan.h"
#include "data_pipeline/separator.h"
#include "data_pipeline/source_marks.h"
#include "data_pipeline/split_writer.h"
#include "data_pipeline/staged_directory.h"
#include "data_pipeline/token_bytes.h"

namespace segue {
namespace {

// One split on its way from text, or from what are tokens already where there is no encoder, to shards.
class SplitPreparation : public TextSink {
 public:
  // `of_bytes` of tokens that may stand for more than a byte; `token_bytes` of ready-made tokens, and may be null.
  SplitPreparation(bool is_text, std::unique_ptr<Encoder> encoder, SplitWriter writer,
                   std::optional<SplitWriter> of_bytes, TokenType type, const TokenBytes* token_bytes)
      : is_text_(is_text),
        encoder_(std::move(encoder)),
        writer_(std::move(writer)),
        of_bytes_(std::move(of_bytes)),
        type_(type),
        token_bytes_(token_bytes) {}

  void begin_file(const std::string& file, int64_t offset) override {
    if (encoder_) encoder_->begin_file(file, offset);
  }
  void append(std::string_view text) override {
    if (is_text_) bytes_ += std::ssize(text);
    if (!encoder_) return append_tokens(std::as_bytes(std::span(text)));
    encoder_->append(text);
    write();
  }
  void end_document() override {
    if (encoder_) encoder_->end_document();
  }
  void end_file() override {
    if (!encoder_) return;
    encoder_->end_file();
    write();
  }
  void end_split() override {
    if (encoder_) {
      encoder_->end_split();
      write();
    }
    info_ = writer_.finish();
    info_.bytes = bytes_;
    if (of_bytes_ && info_.tokens > 0) info_.token_bytes = of_bytes_->finish_row();
    info_.unknown = encoder_ ? encoder_->unknown() : 0;
    if (info_.tokens < kSmallestSplit)
      throw DataError(
          "split \"{}\": expected at least {} tokens, found {} in {} bytes of text: shares are cut where "
          "lines begin if tokens may be longer than a byte, and perhaps no line begins there",
          info_.name, kSmallestSplit, info_.tokens, bytes_);
  }

  const SplitInfo& info() const { return info_; }
  std::string note() const { return encoder_ ? encoder_->note() : std::string(); }

 private:
  void append_tokens(std::span<const std::byte> tokens) {
    if (token_bytes_ != nullptr) {
      of_tokens_.clear();
      bytes_ += token_bytes_->look_up(tokens, type_, of_tokens_);
      of_bytes_->append(of_tokens_);
    }
    writer_.append(tokens);
  }
  void write() {
    block_.clear();
    narrow_into(encoder_->tokens(), type_, block_);
    encoder_->tokens().clear();
    writer_.append(block_);
    if (of_bytes_) of_bytes_->append(encoder_->token_bytes());
    encoder_->token_bytes().clear();
  }

  bool is_text_;
  std::unique_ptr<Encoder> encoder_;
  SplitWriter writer_;
  std::optional<SplitWriter> of_bytes_;
  TokenType type_;
  const TokenBytes* token_bytes_;
  std::vector<std::byte> block_;
  std::vector<uint32_t> of_tokens_;  // bytes that each stands for
  int64_t bytes_ = 0;
  SplitInfo info_;
};

// Writes the shards of all splits, and the manifest's account of them.
DatasetManifest write_splits(const PrepareOptions& options, const std::vector<Corpus>& corpora,
                             const Tokenizer* tokenizer, const std::filesystem::path& directory, Logger& logger) {
  const TokenType type = tokenizer != nullptr ? type_for(tokenizer->info().vocabulary) : source_type_of(options.format);
  const bool is_text = tokenizer != nullptr;
  const bool is_encoded = is_text && tokenizer->info().kind != TokenizerKind::kByte;  // bytes are their own tokens
  std::vector<std::unique_ptr<SplitPreparation>> splits;
  std::optional<TokenBytes> token_bytes;
  if (!options.token_bytes.empty()) token_bytes.emplace(options.token_bytes);
  const auto writer_of = [&](const std::string& name, TokenType type_on_disk) {
    const ShardLayout layout{type_on_disk, options.shard_tokens, static_cast<int>(options.compression)};
    return SplitWriter(directory, name, layout);
  };
  PassResult read = read_corpora(options, corpora, "prepare", [&](const std::string& name) {
    std::optional<SplitWriter> of_bytes;  // one of each byte goes without saying
    if (is_encoded || token_bytes) of_bytes = writer_of(name_of_token_bytes(name), TokenType::kUInt8);
    splits.push_back(std::make_unique<SplitPreparation>(is_text, is_encoded ? tokenizer->make_encoder() : nullptr,
                                                        writer_of(name, type), std::move(of_bytes), type,
                                                        token_bytes ? &*token_bytes : nullptr));
    return splits.back().get();
  });
  DatasetManifest manifest;
  for (const auto& split : splits) {
    manifest.splits.push_back(split->info());
    if (!split->note().empty()) logger.warn("split {}: {}", split->info().name, split->note());
  }
  for (const std::string& warning : read.signs.warnings(options.tokenizer.kind, TextUse::kTraining))
    logger.warn("{}", warning);
  manifest.tokenizer = tokenizer != nullptr
                           ? tokenizer->info()
                           : TokenizerInfo{.kind = TokenizerKind::kReadyMade,
                                           .vocabulary = options.vocabulary.value_or(read.largest_token + 1)};
  manifest.token_type = type;
  manifest.separator = options.separator.value_or(-1);
  manifest.separator_text = options.separator_text;
  manifest.sources = std::move(read.sources);
  if (token_bytes) {
    std::vector<std::string> names;
    for (const SplitInfo& split : manifest.splits) names.push_back(split.name);
    manifest.sources.push_back(source_beside(options.token_bytes, std::move(names)));
  }
  manifest.command = options.command;
  return manifest;
}

// Who predicts among fewer learns nothing, and no checkpoint of it can be read.
void check_vocabulary(const TokenizerInfo& info, const PrepareOptions& options) {
  if (info.vocabulary >= kSmallestVocabulary) return;
  const bool are_words = info.kind == TokenizerKind::kWord && options.tokenizer.vocabulary_file.empty();
  throw DataError("{}: expected a vocabulary of at least {} tokens, found {}{}", options.output.string(),
                  kSmallestVocabulary, counted(info.vocabulary, "token"),
                  options.tokenizer.min_count && are_words
                      ? fmt::format("; lower --min-count ({})", human_count(*options.tokenizer.min_count))
                      : "");
}

// The manifest as far as it is known beforehand, with the shards where tokens are counted by bytes.
DatasetManifest planned_manifest(const PrepareOptions& options, const std::vector<Corpus>& corpora) {
  constexpr int64_t kTooManyShards = int64_t{1} << 20;
  const std::string checksum = checksum_of({});
  const bool counts_bytes = options.format != SourceFormat::kText || options.tokenizer.kind == TokenizerKind::kByte;
  const int64_t shard_bytes = options.shard_tokens * bytes_of(source_type_of(options.format));
  DatasetManifest manifest;
  manifest.command = options.command;
  for (const Corpus& corpus : corpora) {
    for (const SourceFile& file : corpus.files) {
      manifest.sources.push_back({file.path.string(), file.file_bytes, checksum, {corpus.splits[0].name}});
      if (file.tokens && !file.tokens->index.empty())
        manifest.sources.push_back({file.tokens->index.string(), 0, checksum, {corpus.splits[0].name}, true});
    }
    for (const PlannedSplit& split : corpus.splits) {
      const int64_t shards = counts_bytes ? std::min((split.end - split.begin) / shard_bytes, kTooManyShards) : 0;
      manifest.splits.push_back({.name = split.name});
      manifest.splits.back().shards.resize(static_cast<size_t>(shards), {split.name + "-00000.h5", 1, checksum});
    }
  }
  return manifest;
}

// Files, or copies of them, that one split was made of and another too: its losses are of text that was learned. What
// lies beside them, such as their marks, may well be the same.
void warn_of_shared_sources(const DatasetManifest& manifest, Logger& logger) {
  std::map<std::string_view, const SourceInfo*> first_with;  // by checksum
  for (const SourceInfo& source : manifest.sources) {
    if (source.is_beside.value_or(false)) continue;
    const auto [found, is_new] = first_with.try_emplace(source.checksum, &source);
    const SourceInfo& other = *found->second;
    if (is_new || source.bytes == 0 || other.splits == source.splits) continue;
    logger.warn("{} in {} and {} in {} hold the same text", other.file, fmt::join(other.splits, ", "), source.file,
                fmt::join(source.splits, ", "));
  }
}

std::string summary(const DatasetManifest& manifest) {
  std::string text;
  for (const SplitInfo& split : manifest.splits)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", split.name, human_count(split.tokens));
  return fmt::format("{} tokens, vocabulary {}", text, human_count(manifest.tokenizer.vocabulary));
}

// Between whose documents nothing can be put.
bool has_one_document(const Corpus& corpus) {
  return corpus.files.size() == 1 &&
         !(corpus.files.front().tokens && corpus.files.front().tokens->count_documents() > 1);
}

void check_known_format(const PrepareOptions& options) {
  check_options_of_format(options);
  check_mark_options(options);
  check_tokenizer_options(options);
}

// What can be said of the tokenizer's options before it is known whether there is text: only the size of the vocabulary
// belongs to tokens too.
void check_tokenizer_of_any(PrepareOptions options) {
  options.format = SourceFormat::kText;
  if (options.tokenizer.kind == TokenizerKind::kByte) options.vocabulary.reset();
  check_tokenizer_options(options);
}

// What the files said of themselves, and what the user may not have thought of.
void tell_what_was_found(const std::vector<Corpus>& corpora, const PrepareOptions& options, Logger& logger) {
  std::string_view told;
  bool is_told_of_documents = options.has_separator();
  for (const Corpus& corpus : corpora)
    for (const SourceFile& file : corpus.files) {
      const bool has_documents = file.is_ids || (file.tokens && file.tokens->has_documents());
      if (file.tokens && file.tokens->format != std::exchange(told, file.tokens->format))
        logger.info("{}: {}, of {}", file.path.string(), told, name_of(file.tokens->element));
      if (has_documents && !std::exchange(is_told_of_documents, true))
        logger.info("{}: its documents follow one another as they are; --separator puts a token between them",
                    file.path.string());
    }
}

// Whoever gives two shares may not know that a third makes a split of its own.
void tell_of_missing_splits(const PrepareOptions& options, const std::vector<Corpus>& corpora, Logger& logger) {
  if (options.input.empty() || options.fractions.size() != 2) return;
  const std::vector<PlannedSplit>& splits = corpora.front().splits;
  logger.info("--split: two shares make {} and {}, and no test; three make all, as in: --split 0.9,0.05,0.05",
              splits[0].name, splits[1].name);
}

void warn_of_skipped_lines(const std::vector<Corpus>& corpora, Logger& logger) {
  for (const Corpus& corpus : corpora)
    for (const SourceFile& file : corpus.files)
      if (const auto [lines, skipped] = file.json_lines; skipped > 0)
        logger.warn("{}: {} of {} lines have no {}, or null in it, and are left out", file.path.string(),
                    human_count(skipped), human_count(lines), describe_json(Json(file.field)));
}

}  // namespace

TokenType source_type_of(SourceFormat format) {
  switch (format) {
    case SourceFormat::kText:
      return TokenType::kUInt8;
    case SourceFormat::kUInt16:
      return TokenType::kUInt16;
    case SourceFormat::kUInt32:
      return TokenType::kUInt32;
    case SourceFormat::kAuto:
      break;
  }
  throw ContractError("source format {} has no type", static_cast<int>(format));
}

void prepare(const PrepareOptions& given, Logger& logger) {
  PrepareOptions options = with_kind_of_file(given);
  if (options.as_is && options.format == SourceFormat::kAuto) options.format = SourceFormat::kText;
  check_source_options(options);
  if (options.format == SourceFormat::kAuto) {
    check_tokenizer_of_any(options);
  } else {
    check_known_format(options);
  }
  check_fields<UsageError>(options, "prepare");
  check_dataset_output(options.output, options.force);
  StagedDirectory staged(options.output);
  std::vector<Corpus> corpora = find_sources(options, staged.path());
  if (options.format == SourceFormat::kAuto) {
    options.format = format_of(corpora, options);
    check_known_format(options);
    tell_what_was_found(corpora, options, logger);
  }
  plan_splits(options, corpora);
  warn_of_skipped_lines(corpora, logger);
  tell_of_missing_splits(options, corpora, logger);
  if (options.has_separator() && options.field.empty() && std::ranges::all_of(corpora, has_one_document))
    logger.warn("--separator: nothing to put it between, since there is one source {}",
                corpora.size() > 1 ? "for each split" : "alone");
  const std::string manifest_path = (options.output / kManifestFile).string();
  check_manifest_size(planned_manifest(options, corpora), manifest_path);
  const std::unique_ptr<Tokenizer> tokenizer = choose_tokenizer(options, corpora, logger);
  if (tokenizer != nullptr) check_vocabulary(tokenizer->info(), options);
  if (tokenizer != nullptr) check_separator_of(options, *tokenizer, logger);
  DatasetManifest manifest = write_splits(options, corpora, tokenizer.get(), staged.path(), logger);
  check_vocabulary(manifest.tokenizer, options);
  add_source_marks(options, corpora, staged.path(), manifest);
  check_manifest_size(manifest, manifest_path);
  for (const Corpus& corpus : corpora)
    for (const SourceFile& file : corpus.files)
      if (file.content != file.path) remove_tree(file.content);
  if (const std::string_view file = file_of(manifest.tokenizer.kind); !file.empty())
    write_file_atomically(staged.path() / file, tokenizer->file_text());
  write_file_atomically(staged.path() / kManifestFile, dataset_manifest_text(manifest));
  staged.commit();
  warn_of_shared_sources(manifest, logger);
  logger.info("{}: {}", options.output.string(), summary(manifest));
}

}  // namespace segue

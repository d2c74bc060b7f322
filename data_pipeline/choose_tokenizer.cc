#include "data_pipeline/choose_tokenizer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <utility>

#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data_pipeline/corpus_pass.h"
#include "data_pipeline/text_file.h"
#include "data_pipeline/tokenizer/byte_tokenizer.h"
#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"
#include "data_pipeline/tokenizer/subword/huggingface_tokenizer.h"
#include "data_pipeline/tokenizer/subword/tiktoken_tokenizer.h"
#include "data_pipeline/tokenizer/symbol_tokenizer.h"
#include "data_pipeline/tokenizer/word_tokenizer.h"

namespace segue {
namespace {

std::unique_ptr<Tokenizer> learn(std::unique_ptr<TokenizerLearner> learner, const PrepareOptions& options,
                                 const std::vector<Corpus>& corpora) {
  std::vector<Corpus> needed;
  for (const Corpus& corpus : corpora)
    for (const PlannedSplit& split : corpus.splits)
      if (learner->learns_from(split.name)) {
        needed.push_back(corpus);
        break;
      }
  read_corpora(options, needed, "learn the vocabulary",
               [&](const std::string& split) { return learner->learns_from(split) ? learner.get() : nullptr; });
  return learner->finish();
}

WordOptions word_options(const PrepareOptions& options) {
  const WordOptions defaults;
  const TokenizerOptions& asked = options.tokenizer;
  return {.line_marks = asked.line_marks.value_or(defaults.line_marks),
          .line_mark = asked.line_mark.value_or(defaults.line_mark),
          .unknown = asked.unknown.value_or(defaults.unknown),
          .min_count = asked.min_count.value_or(defaults.min_count),
          .vocabulary_size = options.vocabulary};
}

std::unique_ptr<Tokenizer> choose_word_list(const PrepareOptions& options, Logger& logger) {
  const std::filesystem::path& path = options.tokenizer.vocabulary_file;
  const FileText file = read_text_file(path, {.reader = "segue prepare --vocabulary -"});
  for (const std::string& warning : file.signs.warnings(TokenizerKind::kWord, TextUse::kReading))
    logger.warn("{}", warning);
  auto tokenizer = read_word_list(word_options(options), file.text, path.string());
  if (options.tokenizer.unknown && tokenizer->info().unknown_token < 0)
    throw DataError("{}: expected the unknown word \"{}\" on a line of its own, found no such word", path.string(),
                    *options.tokenizer.unknown);
  return tokenizer;
}

std::unique_ptr<Tokenizer> choose_words(const PrepareOptions& options, const std::vector<Corpus>& corpora,
                                        Logger& logger) {
  if (!options.tokenizer.vocabulary_file.empty()) return choose_word_list(options, logger);
  return learn(make_word_learner(word_options(options)), options, corpora);
}

std::unique_ptr<Tokenizer> choose_pieces(const PrepareOptions& options, const std::vector<Corpus>& corpora) {
  const std::filesystem::path& file = options.tokenizer.model_file;
  if (!file.empty()) return read_sentencepiece_model(read_file(file), file.string());
  return learn(make_sentencepiece_learner(*options.vocabulary), options, corpora);
}

constexpr int64_t kMostTokenizerBytes = int64_t{64} << 20;  // of a tokenizer of another program

std::unique_ptr<Tokenizer> choose_huggingface(const TokenizerOptions& asked) {
  return read_huggingface_tokenizer(read_file(asked.file, kMostTokenizerBytes), asked.file.string(),
                                    asked.special_tokens);
}

std::unique_ptr<Tokenizer> choose_tiktoken(const TokenizerOptions& asked) {
  const std::optional<std::string> encoding =
      asked.encoding ? asked.encoding : encoding_of_file_name(asked.file.filename().string());
  return read_tiktoken_tokenizer(read_file(asked.file, kMostTokenizerBytes), asked.file.string(), *encoding,
                                 asked.special_tokens);
}

void check_encoding(const TokenizerOptions& asked) {
  const std::span<const std::string_view> known = tiktoken_encodings();
  if (asked.encoding && std::find(known.begin(), known.end(), *asked.encoding) == known.end())
    throw UsageError("--encoding: expected one of {}, found \"{}\"{}", fmt::join(known, ", "),
                     visible_line(*asked.encoding),
                     did_you_mean(nearest_word(*asked.encoding, {known.begin(), known.end()})));
  if (asked.kind == TokenizerKind::kTiktoken && !asked.encoding && !asked.file.empty() &&
      !encoding_of_file_name(asked.file.filename().string()))
    throw UsageError("--encoding: expected one of {}, as {} is named after none; found nothing", fmt::join(known, ", "),
                     visible_line(asked.file.string()));
}

// A line of ranks is base64, a space and a number.
bool is_line_of_ranks(std::string_view line) {
  const size_t space = line.find(' ');
  const auto is_base64 = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (space == std::string_view::npos || space == 0 || space + 1 == line.size()) return false;
  return std::all_of(line.begin(), line.begin() + static_cast<int64_t>(space), is_base64) &&
         std::all_of(line.begin() + static_cast<int64_t>(space) + 1, line.end(), is_digit);
}

// Whether it is what a checkpoint keeps of its tokenizer, which is no tokenizer by itself.
bool is_of_segue(const std::filesystem::path& file) {
  const std::string text = beginning_of(file);
  return text.find("\"line_mark_token\"") != std::string::npos && text.find("\"checksum\"") != std::string::npos;
}

// What is known to be none: a directory, or JSON of another kind, beside which a tokenizer may be.
void refuse_other_documents(const std::filesystem::path& file) {
  constexpr uintmax_t kMostBytes = uintmax_t{1} << 20;  // of a config; tokenizers are larger
  std::error_code error;
  const bool is_directory = std::filesystem::is_directory(file, error);
  if (!is_directory) {
    if (!std::filesystem::is_regular_file(file, error) || std::filesystem::file_size(file, error) > kMostBytes) return;
    const DocumentKind kind = kind_of_file(file);
    if (kind == DocumentKind::kUnknown || kind == DocumentKind::kTokenizer) return;
  }
  const std::filesystem::path directory = is_directory ? file : file.parent_path();
  std::string meant = "; name Hugging Face's tokenizer.json, or the file that it was made of";
  for (const char* name : {"tokenizer.json", "tokenizer.model", "spiece.model"}) {
    if (!path_exists(directory / name) || is_of_segue(directory / name)) continue;
    meant = did_you_mean(shell_word((directory / name).string()));
    break;
  }
  throw DataError("{}: expected a tokenizer.json, ranks of tiktoken or a SentencePiece model, found {}{}",
                  visible_line(file.string()), describe_path(file), meant);
}

// Nothing of a file that is no tokenizer.
std::optional<TokenizerKind> kind_of_content(const std::filesystem::path& file) {
  refuse_other_documents(file);
  std::array<std::byte, 4096> block{};
  const std::span<std::byte> read = FileReader(file).read(block);
  std::string_view text(reinterpret_cast<const char*>(read.data()), read.size());
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (is_line_of_ranks(line)) return TokenizerKind::kTiktoken;
  if (text.starts_with('\n') && text.size() > 2 && text[2] == '\n') return TokenizerKind::kSentencePiece;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  if (text.starts_with('{')) return TokenizerKind::kHuggingFace;
  return std::nullopt;
}

// The kind that a word is near to, or that others call so.
std::string_view kind_meant_by(const std::string& word) {
  struct OtherName {
    std::string_view name;
    std::string_view meant;
  };
  constexpr std::string_view kTrainedBpe = "sentencepiece, with --model FILE for a model of byte pair encoding";
  constexpr std::string_view kRanks = "a FILE of tiktoken's ranks, with --encoding";
  constexpr std::array kOtherNames{
      OtherName{"bpe", kTrainedBpe},         OtherName{"BPE", kTrainedBpe},   OtherName{"unigram", "sentencepiece"},
      OtherName{"spm", "sentencepiece"},     OtherName{"char", "byte"},       OtherName{"character", "byte"},
      OtherName{"characters", "byte"},       OtherName{"whitespace", "word"}, OtherName{"gpt2", kRanks},
      OtherName{"cl100k_base", kRanks},      OtherName{"o200k_base", kRanks}, OtherName{"hf", "huggingface"},
      OtherName{"tokenizers", "huggingface"}};
  const auto* const other = std::ranges::find(kOtherNames, word, &OtherName::name);
  if (other != kOtherNames.end()) return other->meant;
  const std::span<const std::string_view> kinds = choices_of(TokenizerKind{});
  return nearest_word(word, {kinds.begin(), kinds.end()});
}

// The options given that only some kinds have, with those kinds.
void check_belongs(bool given, const char* option, std::initializer_list<TokenizerKind> kinds,
                   const PrepareOptions& options) {
  const bool text = options.format == SourceFormat::kText;
  if (!given || (text && std::find(kinds.begin(), kinds.end(), options.tokenizer.kind) != kinds.end())) return;
  std::string expected;
  for (const TokenizerKind kind : kinds) expected.append(expected.empty() ? "" : " or ").append(name_of_choice(kind));
  throw UsageError("{}: expected --tokenizer {}, found {}", option, expected,
                   text ? name_of_choice(options.tokenizer.kind) : "ready-made tokens");
}

void check_vocabulary_size(const PrepareOptions& options) {
  const TokenizerOptions& asked = options.tokenizer;
  const bool has_file = !asked.vocabulary_file.empty() || !asked.model_file.empty() || !asked.file.empty();
  if (has_file && options.vocabulary)
    throw UsageError("--vocab-size: expected none beside a file that says the vocabulary, found {}",
                     *options.vocabulary);
  check_belongs(options.vocabulary.has_value(), "--vocab-size", {TokenizerKind::kWord, TokenizerKind::kSentencePiece},
                options);
  if (asked.kind == TokenizerKind::kSentencePiece && !has_file && !options.vocabulary)
    throw UsageError(
        "--vocab-size: expected the number of pieces of sentencepiece, or a model (--model), found neither");
  constexpr int64_t kFewestWords = 3;  // a mark, the unknown word, and one that is neither
  if (asked.kind == TokenizerKind::kWord && options.vocabulary.value_or(kFewestWords) < kFewestWords)
    throw UsageError("--vocab-size: expected at least {} words, found {}", kFewestWords, *options.vocabulary);
}

}  // namespace

PrepareOptions with_kind_of_file(PrepareOptions options) {
  TokenizerOptions& asked = options.tokenizer;
  if (asked.file.empty()) return options;
  if (!path_exists(asked.file)) {
    const std::span<const std::string_view> kinds = choices_of(TokenizerKind{});
    const std::string name = asked.file.string();
    if (name.find_first_of("./~") != std::string::npos)
      throw UsageError("--tokenizer {}: expected a file, or one of {}; there is no such file{}", visible_line(name),
                       fmt::join(kinds, ", "), hint_at_missing(asked.file));
    throw UsageError("--tokenizer: expected one of {}, or a file, found \"{}\"{}", fmt::join(kinds, ", "),
                     visible_line(asked.file.string()), did_you_mean(kind_meant_by(asked.file.string())));
  }
  const std::optional<TokenizerKind> kind = kind_of_content(asked.file);
  if (!kind)
    throw DataError("{}: expected a tokenizer.json, ranks of tiktoken or a SentencePiece model, found none of them",
                    visible_line(asked.file.string()));
  asked.kind = *kind;
  if (asked.kind != TokenizerKind::kSentencePiece) return options;
  if (!asked.model_file.empty())
    throw UsageError("--model: expected one model, found --tokenizer {} too", visible_line(asked.file.string()));
  asked.model_file = std::exchange(asked.file, {});
  return options;
}

void check_tokenizer_options(const PrepareOptions& options) {
  const TokenizerOptions& asked = options.tokenizer;
  check_belongs(asked.line_marks.has_value(), "--eos", {TokenizerKind::kWord}, options);
  check_belongs(asked.line_mark.has_value(), "--eos-word", {TokenizerKind::kWord}, options);
  check_belongs(asked.unknown.has_value(), "--unk", {TokenizerKind::kWord}, options);
  check_belongs(asked.min_count.has_value(), "--min-count", {TokenizerKind::kWord}, options);
  check_belongs(!asked.vocabulary_file.empty(), "--vocabulary", {TokenizerKind::kWord}, options);
  check_belongs(!asked.model_file.empty(), "--model", {TokenizerKind::kSentencePiece}, options);
  if (asked.line_mark && asked.line_marks.value_or(LineMarks::kNone) == LineMarks::kNone)
    throw UsageError("--eos-word: expected --eos line or --eos both to go with it, found none");
  check_belongs(asked.encoding.has_value(), "--encoding", {TokenizerKind::kTiktoken}, options);
  check_belongs(asked.special_tokens, "--special-tokens", {TokenizerKind::kHuggingFace, TokenizerKind::kTiktoken},
                options);
  check_encoding(asked);
  if ((asked.kind == TokenizerKind::kHuggingFace || asked.kind == TokenizerKind::kTiktoken) && asked.file.empty())
    throw UsageError("--tokenizer {}: expected its file in place of this word, found none", name_of_choice(asked.kind));
  if (asked.min_count && !asked.vocabulary_file.empty())
    throw UsageError("--min-count: expected none beside --vocabulary, which is taken whole, found {}",
                     *asked.min_count);
  if (options.format == SourceFormat::kText) {
    if (!options.token_bytes.empty()) throw UsageError("--token-bytes: expected ready-made tokens, found text");
    check_vocabulary_size(options);
  } else if (asked.kind != TokenizerKind::kByte) {
    throw UsageError("--tokenizer {}: expected text, found ready-made tokens", name_of_choice(asked.kind));
  }
}

std::unique_ptr<Tokenizer> choose_tokenizer(const PrepareOptions& options, const std::vector<Corpus>& corpora,
                                            Logger& logger) {
  if (options.format != SourceFormat::kText) return nullptr;
  switch (options.tokenizer.kind) {
    case TokenizerKind::kByte:
      return make_byte_tokenizer();
    case TokenizerKind::kWord:
      return choose_words(options, corpora, logger);
    case TokenizerKind::kEnwik8:
    case TokenizerKind::kText8:
      return learn(make_symbol_learner(options.tokenizer.kind), options, corpora);
    case TokenizerKind::kSentencePiece:
      return choose_pieces(options, corpora);
    case TokenizerKind::kHuggingFace:
      return choose_huggingface(options.tokenizer);
    case TokenizerKind::kTiktoken:
      return choose_tiktoken(options.tokenizer);
    case TokenizerKind::kReadyMade:
      break;
  }
  throw UsageError("--tokenizer {}: expected the format of the tokens (--format), found none",
                   name_of_choice(options.tokenizer.kind));
}

std::unique_ptr<Tokenizer> read_tokenizer_file(const TokenizerOptions& asked, Logger& logger) {
  PrepareOptions options{.format = SourceFormat::kText, .tokenizer = asked};
  if (kind_of_content(asked.file)) {
    options = with_kind_of_file(std::move(options));
  } else {
    options.tokenizer.kind = TokenizerKind::kWord;
    options.tokenizer.vocabulary_file = std::exchange(options.tokenizer.file, {});
  }
  check_tokenizer_options(options);
  return choose_tokenizer(options, {}, logger);
}

}  // namespace segue

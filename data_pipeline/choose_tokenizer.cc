// One choice per kind.
#include "data_pipeline/choose_tokenizer.h"

#include <algorithm>
#include <initializer_list>

#include "base/error.h"
#include "base/file.h"
#include "data_pipeline/corpus_pass.h"
#include "data_pipeline/text_file.h"
#include "data_pipeline/tokenizer/byte_tokenizer.h"
#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"
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

// The options given that only some kinds have, with those kinds.
void check_belongs(bool given, const char* option, std::initializer_list<TokenizerKind> kinds,
                   const PrepareOptions& options) {
  const bool text = options.format == SourceFormat::kText;
  if (!given || (text && std::find(kinds.begin(), kinds.end(), options.tokenizer.kind) != kinds.end())) return;
  std::string expected;
  for (const TokenizerKind kind : kinds) expected.append(expected.empty() ? "" : " or ").append(name_of_choice(kind));
  throw UsageError("{}: expected tokenizer {}, found {}", option, expected,
                   text ? name_of_choice(options.tokenizer.kind) : "ready-made tokens");
}

void check_vocabulary_size(const PrepareOptions& options) {
  const TokenizerOptions& asked = options.tokenizer;
  const bool has_file = !asked.vocabulary_file.empty() || !asked.model_file.empty();
  if (has_file && options.vocabulary) throw UsageError("vocabulary size: expected either a size or a file, found both");
  check_belongs(options.vocabulary.has_value(), "vocabulary size",
                {TokenizerKind::kWord, TokenizerKind::kSentencePiece}, options);
  if (asked.kind == TokenizerKind::kSentencePiece && !has_file && !options.vocabulary)
    throw UsageError("vocabulary size: sentencepiece needs the number of pieces, or a model; found neither");
  constexpr int64_t kFewestWords = 3;  // a mark, the unknown word, and one that is neither
  if (asked.kind == TokenizerKind::kWord && options.vocabulary.value_or(kFewestWords) < kFewestWords)
    throw UsageError("vocabulary size: expected at least {} words, found {}", kFewestWords, *options.vocabulary);
}

}  // namespace

void check_tokenizer_options(const PrepareOptions& options) {
  const TokenizerOptions& asked = options.tokenizer;
  check_belongs(asked.line_marks.has_value(), "line marks", {TokenizerKind::kWord}, options);
  check_belongs(asked.line_mark.has_value(), "line mark", {TokenizerKind::kWord}, options);
  check_belongs(asked.unknown.has_value(), "unknown word", {TokenizerKind::kWord}, options);
  check_belongs(asked.min_count.has_value(), "minimum count", {TokenizerKind::kWord}, options);
  check_belongs(!asked.vocabulary_file.empty(), "vocabulary file", {TokenizerKind::kWord}, options);
  check_belongs(!asked.model_file.empty(), "model file", {TokenizerKind::kSentencePiece}, options);
  if (asked.line_mark && asked.line_marks.value_or(LineMarks::kNone) == LineMarks::kNone)
    throw UsageError(R"(line mark: expected line marks "line" or "both" to go with it, found "none")");
  if (asked.min_count && !asked.vocabulary_file.empty())
    throw UsageError("minimum count: a vocabulary file is taken whole");
  if (options.format == SourceFormat::kText) {
    check_vocabulary_size(options);
  } else if (asked.kind != TokenizerKind::kByte) {
    throw UsageError("tokenizer {}: expected text, found ready-made tokens", name_of_choice(asked.kind));
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
    case TokenizerKind::kReadyMade:
      break;
  }
  throw UsageError("tokenizer {}: say what the tokens are by their format", name_of_choice(options.tokenizer.kind));
}

}  // namespace segue

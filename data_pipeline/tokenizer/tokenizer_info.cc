#include "data_pipeline/tokenizer/tokenizer_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/checksum.h"
#include "base/text.h"
#include "data_pipeline/token_type.h"

namespace segue {
namespace {

enum class Cuts { kAnywhere, kAtLines };
enum class Returns { kKept, kDropped };
enum class Tokens { kShort, kLong };

// Without defaults: a kind that leaves a question open does not compile.
struct KindTraits {
  std::string_view word;  // in manifests and on the command line
  std::string_view unit;
  std::string_view file;
  Cuts cuts;
  Returns returns;  // before line feeds
  Tokens tokens;
};

constexpr KindTraits traits_of(TokenizerKind kind) {
  using enum Cuts;
  using enum Returns;
  using enum Tokens;
  switch (kind) {
    case TokenizerKind::kByte:
      return {"byte", "byte", "", kAnywhere, kKept, kShort};
    case TokenizerKind::kReadyMade:
      return {"ready-made", "token", "", kAnywhere, kKept, kLong};
    case TokenizerKind::kWord:
      return {"word", "word", "vocabulary.txt", kAtLines, kDropped, kLong};
    case TokenizerKind::kEnwik8:
      return {"enwik8", "symbol", "", kAnywhere, kKept, kShort};
    case TokenizerKind::kText8:
      return {"text8", "symbol", "", kAnywhere, kDropped, kShort};
    case TokenizerKind::kSentencePiece:
      return {"sentencepiece", "piece", "tokenizer.model", kAtLines, kKept, kLong};
    case TokenizerKind::kHuggingFace:
      return {"huggingface", "token", "huggingface.json", kAtLines, kKept, kLong};
    case TokenizerKind::kTiktoken:
      return {"tiktoken", "token", "ranks.tiktoken", kAtLines, kKept, kLong};
  }
  return {};  // behind the last kind
}

constexpr size_t kKinds = [] {
  size_t kinds = 0;
  while (!traits_of(static_cast<TokenizerKind>(kinds)).word.empty()) ++kinds;
  return kinds;
}();

constexpr std::array<std::string_view, kKinds> kKindWords = [] {
  std::array<std::string_view, kKinds> words;
  for (size_t kind = 0; kind < kKinds; ++kind) words.at(kind) = traits_of(static_cast<TokenizerKind>(kind)).word;
  return words;
}();

constexpr std::array<std::string_view, 3> kLineMarks{"none", "line", "both"};

std::optional<FieldComplaint> checksum_complaint(const TokenizerInfo& info) {
  const bool expected = !file_of(info.kind).empty() || has_symbols(info.kind);
  const std::string found = describe_json(Json(info.checksum));
  if (!expected && !info.checksum.empty())
    return FieldComplaint{"checksum", fmt::format("none for kind \"{}\"", name_of_choice(info.kind)), found};
  if (expected && !is_checksum(info.checksum))
    return FieldComplaint{"checksum", "\"xxh3:\" and 32 hexadecimal digits", found};
  return std::nullopt;
}

std::optional<FieldComplaint> symbols_complaint(const TokenizerInfo& info) {
  const auto expected = has_symbols(info.kind) ? static_cast<size_t>(info.vocabulary) : size_t{0};
  if (info.symbols.size() != expected)
    return FieldComplaint{"symbols", fmt::format("a list of {}", expected), fmt::format("{}", info.symbols.size())};
  const std::set<int64_t> distinct(info.symbols.begin(), info.symbols.end());
  if (distinct.size() != expected) return FieldComplaint{"symbols", "bytes that differ", "one of them twice"};
  if (has_symbols(info.kind) && info.checksum != checksum_of_symbols(info.symbols))
    return FieldComplaint{"checksum", checksum_of_symbols(info.symbols) + ", that of the symbols", info.checksum};
  return std::nullopt;
}

std::optional<FieldComplaint> ready_made_complaint(const TokenizerInfo& info) {
  const bool is_tiktoken = info.kind == TokenizerKind::kTiktoken;
  if (info.encoding.has_value() != is_tiktoken)
    return FieldComplaint{"encoding", is_tiktoken ? "an encoding" : "none",
                          info.encoding ? describe_json(Json(*info.encoding)) : "none"};
  if (info.special_tokens.value_or(false) && !is_tiktoken && info.kind != TokenizerKind::kHuggingFace)
    return FieldComplaint{"special_tokens", "none", "true"};
  return std::nullopt;
}

std::optional<FieldComplaint> token_complaint(const TokenizerInfo& info, const char* path, int64_t token) {
  if (token < info.vocabulary) return std::nullopt;
  return FieldComplaint{path, fmt::format("a token below {}", info.vocabulary), std::to_string(token)};
}

std::optional<FieldComplaint> words_complaint(const TokenizerInfo& info) {
  const bool marks = info.line_marks != LineMarks::kNone;
  if (marks && info.kind != TokenizerKind::kWord)
    return FieldComplaint{"line_marks", "\"none\"", fmt::format("\"{}\"", name_of_choice(info.line_marks))};
  if (marks != (info.line_mark_token >= 0))
    return FieldComplaint{"line_mark_token", marks ? "a token" : "-1", std::to_string(info.line_mark_token)};
  if (auto complaint = token_complaint(info, "line_mark_token", info.line_mark_token)) return complaint;
  return token_complaint(info, "unknown_token", info.unknown_token);
}

}  // namespace

std::span<const std::string_view> choices_of(TokenizerKind /*kind*/) { return kKindWords; }
std::span<const std::string_view> choices_of(LineMarks /*marks*/) { return kLineMarks; }

std::string_view unit_of(TokenizerKind kind) { return traits_of(kind).unit; }
std::string_view file_of(TokenizerKind kind) { return traits_of(kind).file; }
bool needs_lines(TokenizerKind kind) { return traits_of(kind).cuts == Cuts::kAtLines; }
bool drops_returns(TokenizerKind kind) { return traits_of(kind).returns == Returns::kDropped; }
bool has_long_tokens(TokenizerKind kind) { return traits_of(kind).tokens == Tokens::kLong; }

void TokenizerInfo::describe(JsonFields& fields) {
  constexpr auto kLargest = static_cast<double>(kLargestVocabulary);
  fields.required("kind", kind, {.meaning = "what made the tokens: a way to cut text, or another program"});
  fields.required(
      "vocabulary", vocabulary,
      {.meaning = "number of different tokens; every token is below it", .minimum = 1, .maximum = kLargest});
  fields.optional("checksum", checksum, {.meaning = "XXH3 of the tokenizer's file, or of its symbols"});
  fields.optional("line_marks", line_marks, {.meaning = "where lines of words are marked"});
  fields.optional("line_mark_token", line_mark_token,
                  {.meaning = "token of that mark; -1: none", .minimum = -1, .maximum = kLargest});
  fields.optional(
      "unknown_token", unknown_token,
      {.meaning = "token of all that is not in the vocabulary; -1: none", .minimum = -1, .maximum = kLargest});
  fields.optional("symbols", symbols,
                  {.meaning = "the byte that each token of a symbol kind stands for", .minimum = 0, .maximum = 255});
  fields.optional("encoding", encoding, {.meaning = "of tiktoken: the encoding whose pattern cuts text"});
  fields.optional("special_tokens", special_tokens,
                  {.meaning = "of huggingface and tiktoken: true: special tokens are found in text"});
}

std::optional<FieldComplaint> first_complaint(const TokenizerInfo& info) {
  if (info.kind == TokenizerKind::kByte && info.vocabulary != 256)
    return FieldComplaint{"vocabulary", "256 for bytes", std::to_string(info.vocabulary)};
  if (auto complaint = checksum_complaint(info)) return complaint;
  if (auto complaint = symbols_complaint(info)) return complaint;
  if (auto complaint = ready_made_complaint(info)) return complaint;
  return words_complaint(info);
}

std::string checksum_of_symbols(const std::vector<int64_t>& symbols) {
  std::string bytes;
  for (const int64_t symbol : symbols) bytes += static_cast<char>(symbol);
  return checksum_of(std::as_bytes(std::span(bytes)));
}

bool is_checksum(std::string_view text) {
  constexpr std::string_view kPrefix = "xxh3:";
  constexpr size_t kDigits = 32;
  return text.size() == kPrefix.size() + kDigits && text.starts_with(kPrefix) &&
         text.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

std::string describe(const TokenizerInfo& info) {
  std::string text = fmt::format("{}, vocabulary {}", name_of_choice(info.kind), human_count(info.vocabulary));
  if (info.kind == TokenizerKind::kWord) text += fmt::format(", lines marked: {}", name_of_choice(info.line_marks));
  if (info.encoding) text += fmt::format(", encoding {}", printable_line(*info.encoding, 40));
  if (info.special_tokens.value_or(false)) text += ", special tokens found";
  return info.checksum.empty() ? text : text + ", " + info.checksum;
}

}  // namespace segue

#include "data_pipeline/separator.h"

#include <algorithm>

#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"
#include "data_pipeline/document_boundaries.h"
#include "data_pipeline/tokenizer/word_scanner.h"

namespace segue {
namespace {

constexpr const char* kName = "--separator";

void check_number(const PrepareOptions& options, bool is_text) {
  const int64_t tokens =
      is_text ? 256 : options.vocabulary.value_or(largest_vocabulary(source_type_of(options.format)));
  if (*options.separator < 0 || *options.separator >= tokens)
    throw UsageError("--separator: expected {} from 0 to {}, found {}", is_text ? "a byte" : "a token", tokens - 1,
                     *options.separator);
}

[[noreturn]] void refuse_without_tokens(const TokenizerInfo& info, const std::string& separator) {
  throw UsageError("--separator: expected text of which the tokenizer {} makes tokens, found {}{}",
                   name_of_choice(info.kind), describe_json(Json(separator)), without_line_feeds(info));
}

bool ends_with_space(std::string_view text) {
  constexpr size_t kLongestSpace = 3;  // bytes of a character
  for (size_t bytes = 1; bytes <= std::min(text.size(), kLongestSpace); ++bytes)
    if (white_space_at(text.substr(text.size() - bytes)) == bytes) return true;
  return false;
}

bool is_white_space(std::string_view text) {
  while (!text.empty() && white_space_at(text) > 0) text.remove_prefix(white_space_at(text));
  return text.empty();
}

void check_between_words(const TokenizerOptions& tokenizer, const std::string& text) {
  if (white_space_at(text) == 0 || !ends_with_space(text))
    throw UsageError(
        R"(--separator: expected white space at both ends, which keeps words apart, such as "\n<doc>\n", found {})",
        describe_json(Json(text)));
  const LineMarks marks = tokenizer.line_marks.value_or(LineMarks::kNone);
  if (marks == LineMarks::kNone && is_white_space(text)) refuse_without_tokens({.kind = tokenizer.kind}, text);
}

// Whether the separator's own tokens stand between letters, too.
bool stays_apart(const Tokenizer& tokenizer, const std::string& separator, const std::vector<int32_t>& tokens) {
  const std::vector<int32_t> between = tokens_alone(tokenizer, "a" + separator + "a", kName).tokens;
  return std::search(between.begin(), between.end(), tokens.begin(), tokens.end()) != between.end();
}

}  // namespace

std::optional<std::string> separator_of_text(const PrepareOptions& options) {
  if (options.separator) return std::string(1, static_cast<char>(*options.separator));
  if (!options.separator_text) return std::nullopt;
  std::optional<std::string> text = unescaped(*options.separator_text);
  if (!text)
    throw UsageError(R"(--separator: expected two hexadecimal digits after each "\x", found {})",
                     describe_json(Json(*options.separator_text)));
  if (text->empty()) throw UsageError("--separator: expected a byte, a token or text, found an empty text");
  return text;
}

void check_separator(const PrepareOptions& options) {
  const bool is_text = options.format == SourceFormat::kText;
  if (options.separator) check_number(options, is_text);
  if (options.separator_text && !is_text)
    throw UsageError("--separator: expected the number of a token between ready-made tokens, found text {}",
                     describe_json(Json(*options.separator_text)));
  const std::optional<std::string> text = separator_of_text(options);
  if (text && is_text && options.tokenizer.kind == TokenizerKind::kWord) check_between_words(options.tokenizer, *text);
}

void check_separator_of(const PrepareOptions& options, const Tokenizer& tokenizer, Logger& logger) {
  const TokenizerInfo& info = tokenizer.info();
  if (!options.has_separator() || info.kind == TokenizerKind::kByte) return;
  const std::string text = separator_of_text(options).value_or("");
  const std::string shown = describe_json(Json(text));
  const TokensAlone alone = tokens_alone(tokenizer, text, kName);
  if (alone.unknown > 0) throw UsageError("--separator: expected words of the vocabulary, found {}", shown);
  if (alone.tokens.empty()) refuse_without_tokens(info, text);
  const bool is_between_documents = !options.field.empty();  // between files it is encoded by itself
  if (is_between_documents && !has_symbols(info.kind) && !stays_apart(tokenizer, text, alone.tokens))
    logger.warn(
        "--separator: next to letters the tokenizer makes other tokens of {} than alone, so that "
        "data.document_boundary may not find it",
        shown);
}

}  // namespace segue

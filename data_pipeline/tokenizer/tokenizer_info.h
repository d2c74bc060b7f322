// A manifest's entry about a tokenizer: enough to tell it from any other and, with its file, to make it again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fields.h"

namespace segue {

// kByte: one token per byte. kReadyMade: token files made by another program. kWord: words between white space.
// kEnwik8, kText8: the original's preparation of these corpora, one token per byte that it keeps. kHuggingFace,
// kTiktoken: other programs' tokenizers, by the files that they wrote.
enum class TokenizerKind : uint8_t {
  kByte,
  kReadyMade,
  kWord,
  kEnwik8,
  kText8,
  kSentencePiece,
  kHuggingFace,
  kTiktoken
};
std::span<const std::string_view> choices_of(TokenizerKind kind);

// The word for a token of the kind: "byte", "token", "word", "symbol" or "piece".
std::string_view unit_of(TokenizerKind kind);
// The file that holds the vocabulary or the model beside a manifest; empty for kinds that need none.
std::string_view file_of(TokenizerKind kind);
// Whether cuts between splits move to the next line, since others would cut a token.
bool needs_lines(TokenizerKind kind);
// Whether CR LF is read like LF.
bool drops_returns(TokenizerKind kind);
// Whether tokens are longer than a character, so that people must be shown where each ends.
bool has_long_tokens(TokenizerKind kind);
// Whether a text is encoded as a whole, so that it matters where it ends and another begins.
constexpr bool encodes_whole_texts(TokenizerKind kind) {
  return kind == TokenizerKind::kHuggingFace || kind == TokenizerKind::kTiktoken;
}
constexpr bool has_symbols(TokenizerKind kind) {
  return kind == TokenizerKind::kEnwik8 || kind == TokenizerKind::kText8;
}

// Where words are given a mark of the line's end: nowhere, behind every line, or at both ends of every line.
enum class LineMarks : uint8_t { kNone, kLine, kBoth };
std::span<const std::string_view> choices_of(LineMarks marks);

struct TokenizerInfo {
  TokenizerKind kind = TokenizerKind::kByte;
  int64_t vocabulary = 256;   // every token is below it
  std::string checksum = {};  // of the file, or of the symbols; empty for kinds that have neither
  LineMarks line_marks = LineMarks::kNone;
  int64_t line_mark_token = -1;              // -1: none
  int64_t unknown_token = -1;                // -1: none
  std::vector<int64_t> symbols = {};         // the byte that each token of a symbol kind stands for
  std::optional<std::string> encoding = {};  // kTiktoken: whose pattern cuts text
  std::optional<bool> special_tokens = {};   // kHuggingFace, kTiktoken: true: they are found in text
  void describe(JsonFields& fields);
  bool operator==(const TokenizerInfo&) const = default;
};

// The first field that contradicts another one, for a message of any type.
struct FieldComplaint {
  std::string path;
  std::string expected;
  std::string found;
};
std::optional<FieldComplaint> first_complaint(const TokenizerInfo& info);

std::string checksum_of_symbols(const std::vector<int64_t>& symbols);
// "xxh3:" and 32 hexadecimal digits.
bool is_checksum(std::string_view text);

// "word, vocabulary 267,735, lines marked: line, xxh3:...", for messages.
std::string describe(const TokenizerInfo& info);

}  // namespace segue

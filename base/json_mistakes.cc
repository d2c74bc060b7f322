// Judged by the word at the parser's last byte and by what stands before it.
#include "base/json_mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/json_text.h"

namespace segue {

namespace {

using namespace std::string_view_literals;

constexpr size_t kLongestWord = 40;
constexpr std::string_view kSpace = " \t\r\n";

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The word that a byte is in, as other languages have them; "" where it is in none.
std::string_view word_around(std::string_view text, size_t at) {
  if (at >= text.size() || !is_of_word(text[at])) return {};
  size_t begin = at;
  while (begin > 0 && is_of_word(text[begin - 1])) --begin;
  size_t end = at;
  while (end < text.size() && is_of_word(text[end])) ++end;
  return text.substr(begin, end - begin);
}

struct OtherWord {
  std::string_view written;
  std::string_view json;
};
constexpr std::array kOtherWords{OtherWord{"True", "true"},      OtherWord{"TRUE", "true"},   OtherWord{"yes", "true"},
                                 OtherWord{"False", "false"},    OtherWord{"FALSE", "false"}, OtherWord{"no", "false"},
                                 OtherWord{"None", "null"},      OtherWord{"Null", "null"},   OtherWord{"NULL", "null"},
                                 OtherWord{"undefined", "null"}, OtherWord{"nil", "null"}};
constexpr std::array kNoNumbers{"NaN"sv, "nan"sv, "Infinity"sv, "infinity"sv, "Inf"sv, "inf"sv};

std::string mistake_of_word(std::string_view text, std::string_view word) {
  const auto* const other = std::ranges::find(kOtherWords, word, &OtherWord::written);
  if (other != kOtherWords.end()) return fmt::format("expected {}, found {}", other->json, word);
  if (std::ranges::find(kNoNumbers, word) != kNoNumbers.end())
    return fmt::format("expected a finite number, found {}, which JSON does not have", word);
  if (text.find_first_not_of(kSpace) == static_cast<size_t>(word.data() - text.data()))
    return fmt::format("expected JSON, which begins with {{ or [, found {}", printable_line(word, kLongestWord));
  const auto behind = static_cast<size_t>(word.data() - text.data()) + word.size();
  const size_t next = text.find_first_not_of(kSpace, behind);
  const bool is_key = next != std::string_view::npos && text[next] == ':';
  return fmt::format("expected {} in double quotes, found {}: write \"{}\"", is_key ? "a key" : "a text",
                     printable_line(word, kLongestWord), printable_line(word, kLongestWord));
}

bool begins_with_curly_quote(std::string_view text) {
  constexpr std::array kQuotes{"\u201c"sv, "\u201d"sv, "\u2018"sv, "\u2019"sv, "\u201e"sv, "\u00ab"sv, "\u00bb"sv};
  return std::ranges::any_of(kQuotes, [text](std::string_view quote) { return text.starts_with(quote); });
}

// The last byte before `at` that is no white space; 0 where there is none.
char byte_before(std::string_view text, size_t at) {
  const size_t place = at == 0 ? std::string_view::npos : text.find_last_not_of(kSpace, at - 1);
  return place == std::string_view::npos ? '\0' : text[place];
}

std::string mistake_in_text(std::string_view reason) {
  if (reason.find("control character") != std::string_view::npos)
    return "expected a text that ends on its line: a double quote is missing, or a line end or tab is not written as "
           "\\n or \\t";
  if (reason.find("ill-formed UTF-8") != std::string_view::npos)
    return "expected UTF-8, found another encoding: save the file as UTF-8";
  if (reason.find("missing closing quote") != std::string_view::npos)
    return "expected a double quote at the text's end";
  if (reason.find("surrogate") != std::string_view::npos)
    return R"(expected both halves of a character beyond \uffff, as in \ud83d\ude00)";
  if (reason.find("forbidden character after backslash") != std::string_view::npos)
    return "expected \\\\ for a backslash in a text";
  return {};
}

}  // namespace

std::string json_mistake(std::string_view text, size_t stopped_at, std::string_view reason) {
  if (std::string found = mistake_in_text(reason); !found.empty()) return found;
  if (reason.find("number overflow") != std::string_view::npos) return {};  // well said by the parser
  if (stopped_at >= text.size() || reason.find("unexpected end of input") != std::string_view::npos)
    return text.find_first_not_of(kSpace) == std::string_view::npos
               ? ""
               : fmt::format("expected {} before the text ends: it may be cut off",
                             reason.find("expected ']'") != std::string_view::npos ? "]" : "}");
  const std::string_view rest = text.substr(stopped_at);
  const char found = rest.front();
  const bool has_begun_comment = stopped_at > 0 && text[stopped_at - 1] == '/';
  if (found == '#' || found == '/' || has_begun_comment) return "JSON has no comments: leave it out";
  if (found == '\'') return "expected double quotes, found a single one";
  if (begins_with_curly_quote(rest)) return "expected straight double quotes, found curly ones";
  const auto says = [reason](std::string_view words) { return reason.find(words) != std::string_view::npos; };
  if (says("expected end of input")) return "expected nothing behind the end of the document";
  if (says("expected ':'")) return "expected a colon between a key and its value";
  const char previous = byte_before(text, stopped_at);
  if ((found == '}' || found == ']') && previous == ',')
    return fmt::format("expected no comma before {}: leave it out", found);
  if (found == ',' && (previous == ',' || previous == '[' || previous == '{' || previous == ':'))
    return "expected a value before this comma, found none";
  if ((found == '}' || found == ']') && (previous == ':' || previous == '{' || previous == '['))
    return fmt::format("expected a value before {}, found none", found);
  if (found == '}' && says("expected ']'")) return "expected ] at the end of a list, found }";
  if (found == ']' && says("expected '}'")) return "expected } at the end of an object, found ]";
  if (found == ';') return "expected a comma, found ;";
  if (found == '.' || found == '+') return "expected a number that begins with a digit or -, as in 0.5";
  if (found == '(' || found == '`') return fmt::format("expected a value, found {}", found);
  const std::string_view word = word_around(text, stopped_at);
  if (!word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
    if (word.find_first_not_of("0123456789") != std::string_view::npos)
      return fmt::format("expected a decimal number of digits alone, found {}", printable_line(word, kLongestWord));
    if (word.front() == '0' && word.size() > 1)
      return fmt::format("expected a number without a 0 before it, found {}", printable_line(word, kLongestWord));
  }
  const bool is_inside = says("expected '}'") || says("expected ']'");
  if (says("unexpected") && is_inside) return "expected a comma before this value";
  return word.empty() ? "" : mistake_of_word(text, word);
}

}  // namespace segue

// From Oniguruma's Ruby syntax to PCRE2's, by what is known to mean the same.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data_pipeline/tokenizer/subword/regex.h"

namespace segue {
namespace {

constexpr std::string_view kWordClass = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class RubyTranslator {
 public:
  explicit RubyTranslator(std::string_view pattern) : left_(pattern) {}

  std::string run() {
    if (left_.starts_with("(?i)")) take(4, "(?i)");
    while (!left_.empty()) step();
    return std::move(made_);
  }

 private:
  [[noreturn]] static void refuse(std::string_view what) { throw RegexError{fmt::format("{} is not read", what)}; }

  void take(size_t bytes, std::string_view as) {
    made_ += as;
    left_.remove_prefix(bytes);
  }
  void take(size_t bytes) { take(bytes, left_.substr(0, bytes)); }

  void step() {
    switch (left_.front()) {
      case '\\':
        return escape(false);
      case '[':
        return character_class();
      case '(':
        return open_group();
      case '{':
        return braces();
      case '^':
        return take(1, "(?m:^)");
      case '$':
        return take(1, "(?m:$)");
      default:
        return take(1);
    }
  }

  void open_group() {
    for (const std::string_view known : {"(?:", "(?=", "(?!", "(?>", "(?i:"})
      if (left_.starts_with(known)) return take(known.size());
    if (left_.starts_with("(?<=") || left_.starts_with("(?<!")) refuse("look-behind");
    if (left_.starts_with("(?") || left_.starts_with("(*"))
      refuse(fmt::format("group \"{}\"", left_.substr(0, std::min<size_t>(3, left_.size()))));
    take(1, "(?:");
  }

  // {n}, {n,}, {n,m}, {,m}; other braces are themselves.
  void braces() {
    size_t at = 1;
    const auto digits = [&] {
      const size_t begin = at;
      while (at < left_.size() && is_digit(left_[at])) ++at;
      return left_.substr(begin, at - begin);
    };
    const std::string_view least = digits();
    const bool has_comma = at < left_.size() && left_[at] == ',';
    if (has_comma) ++at;
    const std::string_view most = has_comma ? digits() : std::string_view();
    const bool is_closed = at < left_.size() && left_[at] == '}';
    if (!is_closed || (least.empty() && most.empty())) return take(1, "\\{");
    const char behind = at + 1 < left_.size() ? left_[at + 1] : '\0';
    if (behind == '+' || behind == '*' || (behind == '?' && !has_comma))
      refuse(fmt::format(R"("{}" behind "}}")", behind));
    take(at + 1, fmt::format("{{{}{}{}}}", least.empty() ? "0" : least, has_comma ? "," : "", most));
  }

  // \p{...} and \P{...}: categories as they are, other names as scripts.
  void property() {
    const size_t end = left_.find('}');
    if (left_.size() < 4 || left_[2] != '{' || end == std::string_view::npos) refuse("\\p without {NAME}");
    std::string_view name = left_.substr(3, end - 3);
    bool is_other = left_[1] == 'P';
    if (name.starts_with('^')) {
      is_other = !is_other;
      name.remove_prefix(1);
    }
    if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || c == '_'; }))
      refuse(fmt::format("property \"{}\"", left_.substr(0, end + 1)));
    static constexpr std::string_view kGeneral = "LMNPSZC";
    const bool is_category = name.size() <= 2 && kGeneral.find(name[0]) != std::string_view::npos;
    take(end + 1, fmt::format("\\{}{{{}{}}}", is_other ? 'P' : 'p', is_category ? "" : "sc:", name));
  }

  void hexadecimal() {
    const bool is_braced = left_.size() > 2 && left_[2] == '{';
    const bool is_short = left_[1] == 'u';
    size_t at = is_braced ? 3 : 2;
    const size_t begin = at;
    const size_t most = is_braced ? 8 : is_short ? 4 : 2;
    while (at < left_.size() && at - begin < most && is_hex(left_[at])) ++at;
    const std::string_view digits = left_.substr(begin, at - begin);
    const bool is_whole = is_braced ? at < left_.size() && left_[at] == '}' : !is_short || digits.size() == 4;
    if (digits.empty() || !is_whole || (is_short && is_braced)) refuse("a character's number that is not whole");
    const bool is_byte = !is_braced && !is_short && digits.size() == 2 && digits[0] >= '8';
    if (is_byte) refuse("a byte of a character");
    take(at + (is_braced ? 1 : 0), fmt::format("\\x{{{}}}", digits));
  }

  void escape(bool in_class) {
    if (left_.size() < 2) refuse("\\ at the end");
    const char c = left_[1];
    switch (c) {
      case 'p':
      case 'P':
        return property();
      case 'x':
      case 'u':
        return hexadecimal();
      case 's':
      case 'S':
      case 'd':
      case 'D':
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e':
        return take(2);
      case 'v':
        return take(2, "\\x{b}");
      case 'w':
        return take(2, in_class ? std::string(kWordClass) : fmt::format("[{}]", kWordClass));
      case 'W':
        if (in_class) refuse("\\W in brackets");
        return take(2, fmt::format("[^{}]", kWordClass));
      case 'z':
        if (in_class) refuse("\\z in brackets");
        return take(2);
      default:
        if (is_letter(c) || is_digit(c)) refuse(fmt::format("\\{}", c));
        if (static_cast<uint8_t>(c) >= 0x80) return take(1, "");  // a character that needs no escape
        return take(2);
    }
  }

  void character_class() {
    take(1);
    if (!left_.empty() && left_.front() == '^') take(1);
    if (left_.empty() || left_.front() == ']') refuse("\"]\" at the beginning of brackets");
    while (!left_.empty() && left_.front() != ']') {
      if (left_.front() == '\\') {
        escape(true);
      } else if (left_.front() == '[') {
        refuse("\"[\" in brackets");
      } else if (left_.starts_with("&&")) {
        refuse("\"&&\" in brackets");
      } else {
        take(1);
      }
    }
    if (left_.empty()) refuse("a bracket that is not closed");
    take(1);
  }

  std::string_view left_;
  std::string made_;
};

}  // namespace

std::string translate_ruby_regex(std::string_view pattern) { return RubyTranslator(pattern).run(); }

}  // namespace segue

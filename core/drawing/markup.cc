#include "core/drawing/markup.h"

#include <algorithm>
#include <cstdint>

#include "base/utf8.h"

namespace segue::report {

namespace {

constexpr double kSlimWidth = 0.4;  // of the narrowest letters, as a share of the font size
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr uint32_t kInvalid = 0xFFFFFFFF;

struct Character {
  std::string_view bytes;
  uint32_t code = kInvalid;
};

int64_t encoded_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

// Shortest forms only, no surrogates.
bool is_scalar(uint32_t code, int64_t length) {
  if (length == 3) return code >= 0x800 && (code < 0xD800 || code > 0xDFFF);
  if (length == 4) return code >= 0x10000 && code <= 0x10FFFF;
  return true;
}

// The character that `text`, not empty, begins with; one byte of what is none.
Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto length = static_cast<size_t>(encoded_length(byte(0)));
  if (length == 0 || length > text.size()) return {.bytes = text.substr(0, 1)};
  uint32_t code = length == 1 ? byte(0) : byte(0) & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    if (!continues_character(text[i])) return {.bytes = text.substr(0, 1)};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  if (!is_scalar(code, static_cast<int64_t>(length))) return {.bytes = text.substr(0, 1)};
  return {.bytes = text.substr(0, length), .code = code};
}

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> characters;
  while (!text.empty()) {
    characters.push_back(first_character(text));
    text.remove_prefix(characters.back().bytes.size());
  }
  return characters;
}

bool is_in_xml(uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  if (code >= 0x7F && code < 0xA0) return false;  // XML has these controls; nobody means them
  return code != kInvalid && (code & 0xFFFEU) != 0xFFFEU;
}

std::string_view escape_of(const Character& character) {
  switch (character.code) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return is_in_xml(character.code) ? character.bytes : kReplacement;
  }
}

// The character's width as a share of the font size.
double relative_width(const Character& character) {
  constexpr std::string_view kSlim = "iljtfrI.,:;|!'()[] ";
  constexpr std::string_view kBroad = "mwMW@%";
  if (character.bytes.size() > 2) return 1.0;
  if (kSlim.find(character.bytes) != std::string_view::npos) return kSlimWidth;
  if (kBroad.find(character.bytes) != std::string_view::npos) return 1.0;
  const bool is_capital = character.code >= 'A' && character.code <= 'Z';
  return is_capital ? 0.74 : 0.63;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const Character& character : characters_of(text)) result += escape_of(character);
  return result;
}

int64_t character_count(std::string_view text) { return std::ssize(characters_of(text)); }

std::string shortened(std::string_view text, int64_t most) {
  const std::vector<Character> characters = characters_of(text);
  const int64_t count = std::ssize(characters);
  if (count <= most) return std::string(text);
  const int64_t tail = (most - 1) / 2;
  std::string result;
  for (int64_t i = 0; i < count; ++i) {
    if (i == most - 1 - tail) result += "\xE2\x80\xA6";
    if (i < most - 1 - tail || i >= count - tail) result += characters[static_cast<size_t>(i)].bytes;
  }
  return result;
}

std::string fitted(std::string_view text, double width, double font_size) {
  int64_t most = std::max<int64_t>(1, static_cast<int64_t>(width / (kSlimWidth * font_size)));
  std::string result = shortened(text, most);
  while (most > 1 && text_width(result, font_size) > width) result = shortened(text, --most);
  return result;
}

std::vector<std::string> wrapped(std::string_view text, double width, double font_size) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!lines.empty() && text_width(lines.back() + " ", font_size) + text_width(word, font_size) <= width)
      lines.back().append(" ").append(word);
    else
      lines.push_back(fitted(word, width, font_size));
  }
  return lines;
}

double text_width(std::string_view text, double font_size) {
  double width = 0.0;
  for (const Character& character : characters_of(text)) width += relative_width(character);
  return width * font_size;
}

}  // namespace segue::report

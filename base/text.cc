// Formatting for people, and the nearest known word.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/utf8.h"

namespace segue {

std::string human_bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (std::abs(value) >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits.at(unit));
}

std::string human_count(int64_t count) {
  std::string digits = fmt::format("{}", count);
  const int64_t first = digits[0] == '-' ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > first; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

std::string plural(int64_t count, std::string_view noun) { return fmt::format("{}{}", noun, count == 1 ? "" : "s"); }

std::string counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}", human_count(count), plural(count, noun));
}

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 10.0) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {:02} h", whole / 86400, whole / 3600 % 24);
}

namespace {

char folded(char letter) {
  if (letter == '_') return '-';
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// The least cost of making `a` of `b` by dropping and adding letters, 1 each, and by replacing them (Levenshtein), with
// one row of state.
size_t edit_distance(std::string_view a, std::string_view b, size_t replacement) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (folded(a[i - 1]) == folded(b[j - 1]) ? 0 : replacement);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// Replacing costs as much as dropping and adding: fewer when more letters stay in their order.
size_t letters_lost(std::string_view a, std::string_view b) { return edit_distance(a, b, 2); }

// Words that differ by more are not each other's misspellings.
size_t farthest_typo(size_t length) {
  if (length < 3) return 0;
  if (length < 4) return 1;
  return std::clamp<size_t>(length / 3, 2, 4);
}

// Two edits of a short word are one slip where they lose one letter of each: it is another, or elsewhere.
bool is_another_word(std::string_view word, std::string_view candidate, size_t distance) {
  return word.size() < 6 && distance > 1 && letters_lost(word, candidate) > 2;
}

}  // namespace

std::string non_finite(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0.0 ? "inf" : "-inf";
}

std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() > 128) return {};  // nobody mistypes a known key into this
  std::string_view best;
  size_t best_distance = farthest_typo(word.size()) + 1;
  for (const std::string_view candidate : candidates) {
    const size_t longer = std::max(word.size(), candidate.size());
    const size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter > best_distance) continue;  // the distance is at least the difference of the lengths
    const size_t distance = edit_distance(word, candidate, 1);
    const bool is_tie = distance == best_distance && !best.empty();
    if ((distance >= best_distance && !is_tie) || is_another_word(word, candidate, distance)) continue;
    if (is_tie && letters_lost(word, candidate) >= letters_lost(word, best)) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view near) {
  return near.empty() ? std::string() : fmt::format("; did you mean {}?", near);
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:@%+";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'') word += "'\\'";
    word += letter;
  }
  return word += '\'';
}

std::optional<std::string> unescaped(std::string_view text) {
  constexpr std::string_view kLetters = "nrt\\";
  constexpr std::string_view kMeanings = "\n\r\t\\";
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t letter =
        text[at] == '\\' && at + 1 < text.size() ? kLetters.find(text[at + 1]) : std::string_view::npos;
    if (letter != std::string_view::npos) {
      plain += kMeanings[letter];
      ++at;
    } else if (text.substr(at, 2) == "\\x") {
      uint8_t byte = 0;
      const std::string_view digits = text.substr(at + 2, 2);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
      plain += static_cast<char>(byte);
      at += 3;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

namespace {

// Bytes of the character that `text` begins with; 0 when it is none that a terminal shows.
size_t shown_character(std::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  constexpr uint32_t kDelete = 0x7f;
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != kDelete ? 1 : 0;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  uint32_t code = byte(0) & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (!continues_character(static_cast<char>(byte(i)))) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<uint32_t, 5> kSmallest{0, 0, 0xa0, 0x800, 0x10000};  // below 0xa0 are controls again
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  return byte(0) >= 0xc2 && byte(0) <= 0xf4 && code >= kSmallest.at(length) && code <= 0x10ffff && !is_surrogate
             ? length
             : 0;
}

std::string visible(std::string_view text, std::string_view kept) {
  std::string shown;
  while (!text.empty()) {
    const bool is_kept = kept.find(text[0]) != std::string_view::npos;
    const size_t length = is_kept ? 1 : shown_character(text);
    if (length == 0)
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    else
      shown += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return shown;
}

}  // namespace

std::string visible_line(std::string_view text) { return visible(text, ""); }

std::string visible_lines(std::string_view text) { return visible(text, "\n\t"); }

std::string wrapped(std::string_view paragraph, int64_t columns) {
  std::string text;
  int64_t width = 0;  // of the line so far
  while (!paragraph.empty()) {
    const std::string_view word = paragraph.substr(0, paragraph.find(' '));
    paragraph.remove_prefix(std::min(paragraph.size(), word.size() + 1));
    if (word.empty()) continue;
    const bool begins = width == 0;
    const bool fits = begins || width + 1 + columns_of_text(word) <= columns;
    if (!begins) text += fits ? ' ' : '\n';
    width = (begins || !fits ? 0 : width + 1) + columns_of_text(word);
    text += word;
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace segue

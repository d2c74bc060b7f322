// Numbers and words as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace segue {

std::string human_bytes(int64_t bytes);                     // "1.5 GiB"
std::string human_count(int64_t count);                     // "41,055,436"
std::string plural(int64_t count, std::string_view noun);   // "token" of 1, "tokens" of others
std::string counted(int64_t count, std::string_view noun);  // "1 token", "2,048 tokens"
std::string human_duration(double seconds);                 // "2 h 05 min", "3 min 20 s", "4.2 s"
std::string non_finite(double value);                       // "nan", whose sign means nothing, "inf" or "-inf"

// The candidate with the smallest edit distance to `word`, or "" when all differ in more than a third of its letters or
// in more than four. Of up to five letters one may be wrong or out of place, of two none. Case does not count, nor
// which dash; of equals the one that keeps more of the word's letters in their order, then the first.
std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& candidates);

// "; did you mean NEAR?" at the end of an error; nothing without such a word.
std::string did_you_mean(std::string_view near);

// Text as one word of a shell, in quotes where it needs them.
std::string shell_word(const std::string& text);

// Text as people type it where no line feed can be typed: "\n", "\r", "\t", "\\" and "\xHH" (two hexadecimal digits)
// are what they are in C. A backslash before anything else stays one. Nothing for "\x" without its digits.
std::optional<std::string> unescaped(std::string_view text);

// Text from a file or of a file's name, for a terminal: bytes that it would obey instead of showing (control
// characters, and what is no UTF-8) become "\x1b". Of visible_lines() line ends and tabs stay.
std::string visible_line(std::string_view text);
std::string visible_lines(std::string_view text);

// A paragraph of one line, broken between words into lines of at most `columns` characters of UTF-8, each ended; a
// longer word has a line to itself.
std::string wrapped(std::string_view paragraph, int64_t columns);

}  // namespace segue

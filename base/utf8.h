// Where the characters of UTF-8 text begin, and how many they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace segue {

// Whether a byte belongs to a character that begins before it.
constexpr bool continues_character(char byte) { return (static_cast<uint8_t>(byte) & 0xc0U) == 0x80; }

// On a terminal, each character being taken to be one column wide.
constexpr int64_t columns_of_text(std::string_view text) {
  return std::ranges::count_if(text, [](char byte) { return !continues_character(byte); });
}

}  // namespace segue

// The characters by which byte-level tokenizers write bytes: those of Latin-1 that print, and 68 from U+0100 on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data_pipeline/tokenizer/subword/subword_text.h"

namespace segue {

// The byte that a character writes; none for characters outside of the alphabet.
inline std::optional<uint8_t> byte_of_character(char32_t character) {
  const auto prints = [](char32_t c) {
    return (c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff);
  };
  if (character < 0x100) {
    if (!prints(character)) return std::nullopt;
    return static_cast<uint8_t>(character);
  }
  char32_t written = 0x100;
  for (char32_t byte = 0; byte < 0x100; ++byte)
    if (!prints(byte) && written++ == character) return static_cast<uint8_t>(byte);
  return std::nullopt;
}

// The bytes that a token writes; none where a character of it is outside of the alphabet.
inline std::optional<std::string> bytes_of_token(std::string_view token) {
  std::string bytes;
  for (size_t at = 0; at < token.size(); at += character_size(token[at])) {
    const std::optional<uint8_t> byte = byte_of_character(decode_character(token, at));
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

}  // namespace segue

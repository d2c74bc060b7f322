// How many bytes of text each ready-made token stands for, by a file of the program that made them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data_pipeline/token_type.h"

namespace segue {

class TokenBytes {
 public:
  // A tokenizer.json, or lines of a token's bytes in base64, a space and its number, as tiktoken writes them; a token
  // without a line has no bytes, as a special token. Throws DataError naming file and line, FileError.
  explicit TokenBytes(const std::filesystem::path& file);

  int64_t tokens() const { return std::ssize(bytes_); }
  // Appends the bytes of each of these tokens, in their type on disk, and returns their sum. Throws DataError for a
  // token that the file does not reach.
  int64_t look_up(std::span<const std::byte> tokens, TokenType type, std::vector<uint32_t>& found) const;

 private:
  std::string file_;
  std::vector<uint32_t> bytes_;
};

}  // namespace segue

#include "data_pipeline/token_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data_pipeline/tokenizer/subword/huggingface_tokenizer.h"
#include "data_pipeline/tokenizer/subword/tiktoken_tokenizer.h"

namespace segue {
namespace {

constexpr int64_t kMostTableBytes = int64_t{64} << 20;

std::vector<uint32_t> lengths_by(const Tokenizer& tokenizer) {
  std::vector<uint32_t> lengths;
  for (int64_t token = 0; token < tokenizer.info().vocabulary; ++token) {
    std::string text(1, '.');  // not a text's first token, which may lose a space
    tokenizer.decode_onto(static_cast<int32_t>(token), text);
    lengths.push_back(static_cast<uint32_t>(text.size() - 1));
  }
  return lengths;
}

}  // namespace

TokenBytes::TokenBytes(const std::filesystem::path& file) : file_(visible_line(file.string())) {
  const std::string content = read_file(file, kMostTableBytes);
  const size_t first = content.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && content[first] == '{';
  bytes_ = is_json ? lengths_by(*read_huggingface_tokenizer(content, file_, false)) : read_rank_lengths(content, file_);
}

int64_t TokenBytes::look_up(std::span<const std::byte> tokens, TokenType type, std::vector<uint32_t>& found) const {
  const auto width = static_cast<size_t>(bytes_of(type));
  int64_t bytes = 0;
  for (; !tokens.empty(); tokens = tokens.subspan(width)) {
    uint32_t token = 0;
    std::memcpy(&token, tokens.data(), width);
    if (token >= bytes_.size())
      throw DataError("{}: expected the bytes of token {}, found those of tokens below {}", file_, token,
                      bytes_.size());
    found.push_back(bytes_[token]);
    bytes += bytes_[token];
  }
  return bytes;
}

}  // namespace segue

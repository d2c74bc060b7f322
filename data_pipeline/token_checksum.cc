// Tokens are widened some at a time.
#include "data_pipeline/token_checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace segue {
namespace {

constexpr size_t kWidenedTokens = 16384;

template <typename T>
void widen_tokens(std::span<const std::byte> tokens, std::span<uint32_t> wide) {
  for (size_t i = 0; i < wide.size(); ++i) {
    T token = 0;
    std::memcpy(&token, tokens.data() + i * sizeof(T), sizeof(T));
    wide[i] = token;
  }
}

}  // namespace

void TokenChecksum::update(std::span<const std::byte> tokens) {
  static_assert(std::endian::native == std::endian::little);
  if (type_ == TokenType::kUInt32) return checksum_.update(tokens);
  const auto token_bytes = static_cast<size_t>(bytes_of(type_));
  while (!tokens.empty()) {
    const size_t count = std::min(kWidenedTokens, tokens.size() / token_bytes);
    wide_.resize(count);
    type_ == TokenType::kUInt8 ? widen_tokens<uint8_t>(tokens, wide_) : widen_tokens<uint16_t>(tokens, wide_);
    checksum_.update(std::as_bytes(std::span(wide_)));
    tokens = tokens.subspan(count * token_bytes);
  }
}

}  // namespace segue

// The element types in which tokens lie on disk.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace segue {

enum class TokenType : uint8_t { kUInt8, kUInt16, kUInt32 };

constexpr std::array<std::string_view, 3> kTokenTypeNames{"uint8", "uint16", "uint32"};
inline std::span<const std::string_view> choices_of(TokenType /*type*/) { return kTokenTypeNames; }
inline std::string_view name_of(TokenType type) { return kTokenTypeNames.at(static_cast<size_t>(type)); }

constexpr int64_t bytes_of(TokenType type) { return int64_t{1} << static_cast<int>(type); }

// Tokens travel as int32 once read, so the largest vocabulary is the same for every wider type.
constexpr int64_t kLargestVocabulary = std::numeric_limits<int32_t>::max();
constexpr int64_t kSmallestVocabulary = 2;  // of what can be learned
constexpr int64_t largest_vocabulary(TokenType type) {
  return type == TokenType::kUInt32 ? kLargestVocabulary : int64_t{1} << (8 * bytes_of(type));
}

}  // namespace segue

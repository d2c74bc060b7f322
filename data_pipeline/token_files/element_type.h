// The integer types in which other programs store tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace segue {

enum class ElementType : uint8_t { kUInt8, kInt8, kUInt16, kInt16, kUInt32, kInt32, kUInt64, kInt64 };

constexpr std::array<std::string_view, 8> kElementTypeNames{"uint8",  "int8",  "uint16", "int16",
                                                            "uint32", "int32", "uint64", "int64"};
inline std::string_view name_of(ElementType type) { return kElementTypeNames.at(static_cast<size_t>(type)); }

constexpr int64_t bytes_of(ElementType type) { return int64_t{1} << (static_cast<int>(type) / 2); }

// Calls visit(T{}) with the C++ type of the elements.
template <typename Visit>
auto visit_element_type(ElementType type, Visit&& visit) {
  switch (type) {
    case ElementType::kUInt8:
      return visit(uint8_t{});
    case ElementType::kInt8:
      return visit(int8_t{});
    case ElementType::kUInt16:
      return visit(uint16_t{});
    case ElementType::kInt16:
      return visit(int16_t{});
    case ElementType::kUInt32:
      return visit(uint32_t{});
    case ElementType::kInt32:
      return visit(int32_t{});
    case ElementType::kUInt64:
      return visit(uint64_t{});
    case ElementType::kInt64:
      break;
  }
  return visit(int64_t{});
}

}  // namespace segue

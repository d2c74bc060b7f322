// Descriptions of types and extents, element by element.
#include "data_pipeline/hdf5/types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace segue {

namespace {

enum TypeClass : uint64_t { kWholeClass = 0, kFloatClass = 1, kTextClass = 3, kVariableClass = 9 };

// Where sign, exponent and mantissa lie; IEEE 754's, of half, single and double precision.
struct FloatLayout {
  uint64_t bytes, exponent_at, exponent_bits, mantissa_bits, bias;
};
constexpr std::array kFloats{FloatLayout{2, 10, 5, 10, 15}, FloatLayout{4, 23, 8, 23, 127},
                             FloatLayout{8, 52, 11, 52, 1023}};

bool is_known_float(uint64_t bytes, Hdf5Cursor cursor) {
  const uint64_t bit_offset = cursor.number(2);
  const uint64_t precision = cursor.number(2);
  const uint64_t exponent_at = cursor.number(1);
  const uint64_t exponent_bits = cursor.number(1);
  const uint64_t mantissa_at = cursor.number(1);
  const uint64_t mantissa_bits = cursor.number(1);
  const uint64_t bias = cursor.number(4);
  return bit_offset == 0 && mantissa_at == 0 && precision == 8 * bytes &&
         std::ranges::any_of(kFloats, [&](const FloatLayout& known) {
           return known.bytes == bytes && known.exponent_at == exponent_at && known.exponent_bits == exponent_bits &&
                  known.mantissa_bits == mantissa_bits && known.bias == bias;
         });
}

bool is_known_whole(uint64_t bytes, Hdf5Cursor cursor) {
  const uint64_t bit_offset = cursor.number(2);
  return std::has_single_bit(bytes) && bytes <= 8 && bit_offset == 0 && cursor.number(2) == 8 * bytes;
}

// An element's bits, the lowest first.
uint64_t bits_of(const Hdf5Type& type, std::span<const std::byte> element) {
  std::array<std::byte, 8> bytes{};
  std::ranges::copy(element.first(type.bytes), bytes.begin());
  if (type.is_big_endian) std::reverse(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(type.bytes));
  return std::bit_cast<uint64_t>(bytes);
}

double float_of_half(uint64_t bits) {
  constexpr int kMantissaBits = 10;
  constexpr int kLargestExponent = 31;
  const auto exponent = static_cast<int>(bits >> kMantissaBits & 0x1f);
  const auto mantissa = static_cast<int>(bits & 0x3ff);
  double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa | 0x400, exponent - 25);
  if (exponent == kLargestExponent) magnitude = mantissa == 0 ? HUGE_VAL : std::nan("");
  return (bits & 0x8000) == 0 ? magnitude : -magnitude;
}

}  // namespace

Hdf5Type parse_hdf5_type(Hdf5Cursor cursor) {
  constexpr uint64_t kBigEndianFlag = 0x01;
  constexpr uint64_t kSignedFlag = 0x08;
  constexpr uint64_t kVaxFlag = 0x40;
  constexpr uint64_t kPaddingMask = 0x0f;
  constexpr uint64_t kBlanks = 2;
  const uint64_t kind = cursor.number(1) & 0x0f;
  const uint64_t flags = cursor.number(3);
  Hdf5Type type{.bytes = cursor.number(4),
                .is_signed = (flags & kSignedFlag) != 0,
                .is_big_endian = (flags & kBigEndianFlag) != 0};
  if (kind == kWholeClass && is_known_whole(type.bytes, cursor)) type.kind = Hdf5Type::Kind::kWhole;
  if (kind == kFloatClass && (flags & kVaxFlag) == 0 && is_known_float(type.bytes, cursor))
    type.kind = Hdf5Type::Kind::kFloat;
  if (kind == kTextClass) type.kind = Hdf5Type::Kind::kText;
  type.is_padded_with_blanks = kind == kTextClass && (flags & kPaddingMask) == kBlanks;
  if (kind == kVariableClass && (flags & 0x0f) == 1) type.kind = Hdf5Type::Kind::kTextElsewhere;
  return type;
}

std::vector<uint64_t> parse_hdf5_extents(Hdf5Cursor cursor, std::vector<uint64_t>* most) {
  constexpr uint64_t kMostFlag = 0x01;
  constexpr uint64_t kMostExtents = 32;
  constexpr uint64_t kNoElements = 2;
  const uint64_t version = cursor.number(1);
  if (version != 1 && version != 2)
    cursor.file().fail("{}: extent: expected version 1 or 2, found {}", cursor.what(), version);
  const uint64_t rank = cursor.number(1);
  const uint64_t flags = cursor.number(1);
  const uint64_t kind = cursor.number(1);
  if (version == 1) cursor.skip(4);
  if (version == 2 && kind == kNoElements) cursor.file().fail("{}: expected elements, found none", cursor.what());
  if (rank > kMostExtents)
    cursor.file().fail("{}: expected elements in at most {} dimensions, found others", cursor.what(), kMostExtents);
  std::vector<uint64_t> extents(rank);
  for (uint64_t& extent : extents) extent = cursor.number(8);
  if (most != nullptr) *most = extents;
  if (most != nullptr && (flags & kMostFlag) != 0)
    for (uint64_t& extent : *most) extent = cursor.number(8);
  return extents;
}

int64_t hdf5_whole_number(const Hdf5Type& type, std::span<const std::byte> element) {
  const uint64_t bits = bits_of(type, element);
  const uint64_t unused = 64 - 8 * type.bytes;
  return type.is_signed ? static_cast<int64_t>(bits << unused) >> unused : static_cast<int64_t>(bits);
}

double hdf5_float(const Hdf5Type& type, std::span<const std::byte> element) {
  const uint64_t bits = bits_of(type, element);
  if (type.bytes == sizeof(double)) return std::bit_cast<double>(bits);
  if (type.bytes == sizeof(float)) return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return float_of_half(bits);
}

}  // namespace segue

#include "base/stated_length.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"

namespace segue {

namespace {

// Bytes that a file says that it has, all of them or at least so many.
struct StatedLength {
  uint64_t bytes = 0;
  bool is_least = false;
};

uint64_t number_at(std::string_view text, size_t offset) {
  uint64_t number = 0;
  std::memcpy(&number, text.data() + offset, sizeof(number));
  return number;
}

// Of the superblock, versions 0 to 3 (HDF5 File Format Specification, section II.A), where addresses have 8 bytes and
// count from the file's beginning.
std::optional<StatedLength> length_of_hdf5(std::string_view beginning) {
  constexpr size_t kSuperblockVersionAt = 8;
  constexpr size_t kShortestHead = 48;
  constexpr std::array<size_t, 4> kSizesAt{13, 13, 9, 9};
  constexpr std::array<size_t, 4> kBaseAt{24, 28, 12, 12};
  constexpr size_t kEndAfterBase = 16;
  constexpr char kAddressBytes = 8;
  if (beginning.size() <= kSuperblockVersionAt) return StatedLength{.bytes = kShortestHead, .is_least = true};
  const auto version = static_cast<unsigned char>(beginning[kSuperblockVersionAt]);
  if (version >= kBaseAt.size()) return std::nullopt;
  const size_t base = kBaseAt.at(version);
  const size_t end = base + kEndAfterBase;
  if (beginning.size() < end + sizeof(uint64_t)) return StatedLength{.bytes = end + sizeof(uint64_t), .is_least = true};
  if (beginning[kSizesAt.at(version)] != kAddressBytes || number_at(beginning, base) != 0) return std::nullopt;
  return StatedLength{.bytes = number_at(beginning, end)};
}

// Of the header, where the last tensor ends.
std::optional<StatedLength> length_of_safetensors(const FileReader& file) {
  constexpr uint64_t kLengthBytes = 8;
  constexpr uint64_t kMostHeader = uint64_t{16} << 20;
  std::array<char, kLengthBytes> head{};
  if (file.read_at(0, std::as_writable_bytes(std::span(head))).size() < kLengthBytes) return std::nullopt;
  const uint64_t length = number_at({head.data(), head.size()}, 0);
  if (length > kMostHeader) return std::nullopt;
  std::string header(length, '\0');
  if (file.read_at(kLengthBytes, std::as_writable_bytes(std::span(header))).size() < length)
    return StatedLength{.bytes = kLengthBytes + length, .is_least = true};
  uint64_t end = 0;
  const Json tensors = parse_json<DataError>(header, "header");
  for (const Json& tensor : tensors) {
    if (!tensor.is_object() || !tensor.contains("data_offsets")) continue;
    const Json& offsets = tensor["data_offsets"];
    if (offsets.is_array() && offsets.size() == 2 && offsets[1].is_number_unsigned())
      end = std::max(end, offsets[1].get<uint64_t>());
  }
  if (end > std::numeric_limits<uint64_t>::max() - kLengthBytes - length) return std::nullopt;  // no file is as long
  return StatedLength{.bytes = kLengthBytes + length + end};
}

std::optional<StatedLength> length_of(const FileReader& file) {
  using namespace std::string_view_literals;
  constexpr size_t kLongestHead = 64;
  std::string beginning(kLongestHead, '\0');
  beginning.resize(file.read_at(0, std::as_writable_bytes(std::span(beginning))).size());
  if (beginning.starts_with("\x89HDF\r\n\x1a\n"sv)) return length_of_hdf5(beginning);
  if (beginning.size() > 8 && beginning[8] == '{' && beginning[7] == '\0') return length_of_safetensors(file);
  return std::nullopt;
}

}  // namespace

std::string describe_cut(const std::filesystem::path& path) try {
  const FileReader file(path);
  const std::optional<StatedLength> stated = length_of(file);
  constexpr auto kLongest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!stated || stated->bytes <= static_cast<uint64_t>(file.size()) || stated->bytes > kLongest) return "";
  return fmt::format("; it is cut off: {} bytes of {}{}", file.size(), stated->is_least ? "at least " : "",
                     stated->bytes);
} catch (const Error&) {
  return "";
}

}  // namespace segue

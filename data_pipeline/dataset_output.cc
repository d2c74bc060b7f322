#include "data_pipeline/dataset_output.h"

#include <algorithm>
#include <bit>

#include "base/directory_content.h"
#include "base/error.h"

namespace segue {

namespace {

static_assert(std::endian::native == std::endian::little, "token files and shards are little-endian");

template <typename T>
void narrow_to(std::span<const uint32_t> tokens, std::vector<std::byte>& out) {
  const size_t begin = out.size();
  out.resize(begin + tokens.size() * sizeof(T));
  T* to = reinterpret_cast<T*>(out.data() + begin);
  for (const uint32_t token : tokens) *to++ = static_cast<T>(token);
}

}  // namespace

void check_dataset_output(const std::filesystem::path& output, bool force) {
  if (output.empty()) throw UsageError("--output: expected a directory, found an empty path");
  check_directory_place(output, "--output");
  if (!std::filesystem::exists(output)) return;
  if (std::filesystem::is_empty(output)) return;
  const std::vector<DirectoryKind> kinds = kinds_in(output);
  if (kinds != std::vector{DirectoryKind::kDataset})
    throw DataError("{}: exists and is not a dataset alone: it holds {}; name another --output", output.string(),
                    describe_content(output));
  if (!force) throw DataError("{}: the dataset exists; --force replaces it", output.string());
}

TokenType type_for(int64_t vocabulary) {
  for (const TokenType type : {TokenType::kUInt8, TokenType::kUInt16})
    if (vocabulary <= largest_vocabulary(type)) return type;
  return TokenType::kUInt32;
}

std::vector<std::byte> widened(std::span<const std::byte> tokens, TokenType from, TokenType to) {
  const auto narrow = static_cast<size_t>(bytes_of(from));
  const auto wide = static_cast<size_t>(bytes_of(to));
  std::vector<std::byte> out(tokens.size() / narrow * wide);
  for (size_t i = 0; i * narrow < tokens.size(); ++i)
    std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(i * narrow), narrow,
                out.begin() + static_cast<std::ptrdiff_t>(i * wide));
  return out;
}

void narrow_into(std::span<const uint32_t> tokens, TokenType type, std::vector<std::byte>& out) {
  if (type == TokenType::kUInt8) narrow_to<uint8_t>(tokens, out);
  if (type == TokenType::kUInt16) narrow_to<uint16_t>(tokens, out);
  if (type == TokenType::kUInt32) narrow_to<uint32_t>(tokens, out);
}

}  // namespace segue

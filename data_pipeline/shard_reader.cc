#include "data_pipeline/shard_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/json_text.h"

namespace segue {
namespace {

constexpr size_t kLongestShown = 64;

void check_names(const Hdf5Object& dataset, const ShardIdentity& expected) {
  const Hdf5Bytes& file = dataset.file();
  const std::string format = hdf5_text_attribute(dataset, "format").value_or("");
  if (format != kShardFormat)
    file.fail(R"(expected format "{}", found "{}")", kShardFormat, printable_line(format, kLongestShown));
  const std::string split = hdf5_text_attribute(dataset, "split").value_or("");
  const int64_t index = hdf5_integer_attribute(dataset, "index").value_or(-1);
  if (split != expected.split || index != expected.index)
    file.fail(R"(expected shard {} of split "{}", found shard {} of split "{}")", expected.index, expected.split, index,
              printable_line(split, kLongestShown));
}

void check_tokens(const Hdf5Bytes& file, const Hdf5Row& row, const ShardIdentity& expected) {
  const Hdf5Type& type = row.type();
  if (type.kind != Hdf5Type::Kind::kWhole || type.is_signed || type.is_big_endian ||
      type.bytes != static_cast<uint64_t>(bytes_of(expected.type)))
    file.fail("expected tokens of type {}, found another type", name_of(expected.type));
  if (row.elements() != static_cast<uint64_t>(expected.tokens))
    file.fail("expected {} tokens, found {}", expected.tokens, row.elements());
}

// Opens the dataset `tokens`, after checking that it is the expected one.
Hdf5Row open_row(const Hdf5Bytes& file, const ShardIdentity& expected) {
  const Hdf5Object dataset = open_hdf5_child(open_hdf5_root(file), kShardDataset);
  check_names(dataset, expected);
  Hdf5Row row(file, dataset);
  check_tokens(file, row, expected);
  return row;
}

// Larger than an int32, a token is larger than every vocabulary.
template <typename T>
void widen(const std::vector<std::byte>& bytes, std::span<int32_t> tokens) {
  constexpr uint32_t kLargest = std::numeric_limits<int32_t>::max();
  const T* const stored = reinterpret_cast<const T*>(bytes.data());
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(std::min<uint32_t>(stored[i], kLargest));
}

}  // namespace

ShardReader::ShardReader(const std::filesystem::path& path, const ShardIdentity& expected)
    : ShardReader(open(path), expected) {}

ShardReader::ShardReader(Hdf5Bytes bytes, const ShardIdentity& expected)
    : type_(expected.type),
      file_(std::make_unique<const Hdf5Bytes>(std::move(bytes))),
      row_(open_row(*file_, expected)) {}

Hdf5Bytes ShardReader::open(const std::filesystem::path& path) {
  if (!path_exists(path)) throw DataError("{}: the shard is missing", path.string());
  return Hdf5Bytes(path);
}

void ShardReader::read(int64_t offset, std::span<int32_t> tokens) {
  std::vector<std::byte> bytes(tokens.size() * static_cast<size_t>(bytes_of(type_)));
  read_bytes(offset, bytes);
  switch (type_) {
    case TokenType::kUInt8:
      return widen<uint8_t>(bytes, tokens);
    case TokenType::kUInt16:
      return widen<uint16_t>(bytes, tokens);
    case TokenType::kUInt32:
      return widen<uint32_t>(bytes, tokens);
  }
}

void ShardReader::read_bytes(int64_t offset, std::span<std::byte> tokens) {
  row_.read(static_cast<uint64_t>(offset), tokens);
}

}  // namespace segue

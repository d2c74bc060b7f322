// Shards, from bytes on disk to tokens.
#include "data_pipeline/shard_reader.h"

#include <utility>

namespace segue {
namespace {

Hdf5Handle open_file(const std::filesystem::path& path) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Shards never change once they have their name, and cluster file systems often refuse locks.
  hdf5_checked(H5Pset_file_locking(access.get(), false, true), path, "switch file locking off");
  return {hdf5_checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), path, "open the shard"), H5Fclose};
}

Hdf5Handle open_attribute(hid_t dataset, const std::filesystem::path& path, const char* name) {
  return {hdf5_checked(H5Aopen(dataset, name, H5P_DEFAULT), path, fmt::format("open attribute \"{}\"", name)),
          H5Aclose};
}

// The text of a fixed-length string attribute, or "" when it is anything else.
std::string text_attribute(hid_t dataset, const std::filesystem::path& path, const char* name) {
  constexpr size_t kLongest = 256;
  const Hdf5Handle attribute = open_attribute(dataset, path, name);
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  const size_t size = H5Tget_size(type.get());
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0 || size > kLongest ||
      H5Sget_simple_extent_npoints(space.get()) != 1)
    return "";
  std::string text(size, '\0');
  hdf5_checked(H5Aread(attribute.get(), type.get(), text.data()), path, fmt::format("read attribute \"{}\"", name));
  return text;
}

// The value of an integer attribute, or -1 when it is anything else.
int64_t integer_attribute(hid_t dataset, const std::filesystem::path& path, const char* name) {
  const Hdf5Handle attribute = open_attribute(dataset, path, name);
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  if (H5Tequal(type.get(), H5T_STD_I64LE) <= 0) return -1;
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  if (H5Sget_simple_extent_npoints(space.get()) != 1) return -1;
  int64_t value = -1;
  hdf5_checked(H5Aread(attribute.get(), H5T_STD_I64LE, &value), path, fmt::format("read attribute \"{}\"", name));
  return value;
}

void check_names(hid_t dataset, const std::filesystem::path& path, const ShardIdentity& expected) {
  const std::string format = text_attribute(dataset, path, "format");
  if (format != kShardFormat)
    throw DataError(R"({}: expected format "{}", found "{}")", path.string(), kShardFormat, format);
  const std::string split = text_attribute(dataset, path, "split");
  const int64_t index = integer_attribute(dataset, path, "index");
  if (split != expected.split || index != expected.index)
    throw DataError(R"({}: expected shard {} of split "{}", found shard {} of split "{}")", path.string(),
                    expected.index, expected.split, index, split);
}

void check_tokens(hid_t dataset, const std::filesystem::path& path, const ShardIdentity& expected) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  if (H5Tequal(type.get(), hdf5_type(expected.type)) <= 0)
    throw DataError("{}: expected tokens of type {}, found another type", path.string(), name_of(expected.type));
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank != 1) throw DataError("{}: expected a one-dimensional dataset, found rank {}", path.string(), rank);
  const auto tokens = static_cast<int64_t>(H5Sget_simple_extent_npoints(space.get()));
  if (tokens != expected.tokens)
    throw DataError("{}: expected {} tokens, found {}", path.string(), expected.tokens, tokens);
}

}  // namespace

ShardReader::ShardReader(std::filesystem::path path, const ShardIdentity& expected)
    : path_(std::move(path)), type_(expected.type), tokens_(expected.tokens) {
  if (!std::filesystem::exists(path_)) throw DataError("{}: the shard is missing", path_.string());
  const Hdf5Silence silence;
  file_ = open_file(path_);
  dataset_ = {hdf5_checked(H5Dopen2(file_.get(), kShardDataset, H5P_DEFAULT), path_, "open dataset \"tokens\""),
              H5Dclose};
  check_names(dataset_.get(), path_, expected);
  check_tokens(dataset_.get(), path_, expected);
}

void ShardReader::read(int64_t offset, std::span<int32_t> tokens) const {
  read_as(H5T_NATIVE_INT32, offset, static_cast<int64_t>(tokens.size()), tokens.data());
}

void ShardReader::read_bytes(int64_t offset, std::span<std::byte> tokens) const {
  read_as(hdf5_type(type_), offset, static_cast<int64_t>(tokens.size()) / bytes_of(type_), tokens.data());
}

void ShardReader::read_as(hid_t type, int64_t offset, int64_t count, void* tokens) const {
  if (offset < 0 || count < 0 || count > tokens_ - offset)
    throw ContractError("{}: tokens {}..{} of {}", path_.string(), offset, offset + count, tokens_);
  const Hdf5Silence silence;
  const Hdf5Handle memory = hdf5_selection(count, 0, count);
  const Hdf5Handle disk = hdf5_selection(tokens_, offset, count);
  if (H5Dread(dataset_.get(), type, memory.get(), disk.get(), H5P_DEFAULT, tokens) < 0)
    throw DataError("{}: cannot read tokens {} to {}: {}", path_.string(), offset, offset + count - 1, hdf5_reason());
}

}  // namespace segue

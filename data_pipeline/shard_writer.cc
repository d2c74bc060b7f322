#include "data_pipeline/shard_writer.h"

#include <algorithm>
#include <utility>

namespace segue {
namespace {

Hdf5Handle chunked_and_checked(const std::filesystem::path& path, const ShardIdentity& identity, int compression) {
  Hdf5Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const auto chunk = static_cast<hsize_t>(std::min(kChunkTokens, identity.tokens));
  hdf5_checked(H5Pset_chunk(layout.get(), 1, &chunk), path, "set the chunk size");
  hdf5_checked(H5Pset_obj_track_times(layout.get(), false), path, "leave out when it was written");
  hdf5_checked(H5Pset_fill_time(layout.get(), H5D_FILL_TIME_NEVER), path, "switch filling off");
  if (compression > 0) {
    hdf5_checked(H5Pset_shuffle(layout.get()), path, "add the shuffle filter");
    hdf5_checked(H5Pset_deflate(layout.get(), static_cast<unsigned>(compression)), path, "add the deflate filter");
  }
  hdf5_checked(H5Pset_fletcher32(layout.get()), path, "add the checksum filter");
  return layout;
}

Hdf5Handle create_dataset(hid_t file, const std::filesystem::path& path, const ShardIdentity& identity,
                          int compression) {
  const Hdf5Handle layout = chunked_and_checked(path, identity, compression);
  const Hdf5Handle space = hdf5_selection(identity.tokens, 0, identity.tokens);
  return {hdf5_checked(H5Dcreate2(file, kShardDataset, hdf5_type(identity.type), space.get(), H5P_DEFAULT, layout.get(),
                                  H5P_DEFAULT),
                       path, "create dataset \"tokens\""),
          H5Dclose};
}

void write_attribute(hid_t dataset, const std::filesystem::path& path, const char* name, hid_t type,
                     const void* value) {
  const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle attribute(H5Acreate2(dataset, name, type, scalar.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  hdf5_checked(attribute.get(), path, "create an attribute");
  hdf5_checked(H5Awrite(attribute.get(), type, value), path, "write an attribute");
}

void write_attribute(hid_t dataset, const std::filesystem::path& path, const char* name, const std::string& text) {
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  hdf5_checked(H5Tset_size(type.get(), text.size()), path, "size an attribute");
  write_attribute(dataset, path, name, type.get(), text.data());
}

}  // namespace

ShardWriter::ShardWriter(std::filesystem::path path, ShardIdentity identity, int compression)
    : path_(std::move(path)), identity_(std::move(identity)), file_(path_) {
  const Hdf5Silence silence;
  dataset_ = create_dataset(file_.get(), path_, identity_, compression);
  write_attribute(dataset_.get(), path_, "format", kShardFormat);
  write_attribute(dataset_.get(), path_, "split", identity_.split);
  write_attribute(dataset_.get(), path_, "index", H5T_STD_I64LE, &identity_.index);
}

void ShardWriter::append(std::span<const std::byte> tokens) {
  const Hdf5Silence silence;
  const int64_t count = static_cast<int64_t>(tokens.size()) / bytes_of(identity_.type);
  if (count > missing()) throw ContractError("{}: {} tokens for the {} missing", path_.string(), count, missing());
  const Hdf5Handle memory = hdf5_selection(count, 0, count);
  const Hdf5Handle disk = hdf5_selection(identity_.tokens, written_, count);
  hdf5_checked(
      H5Dwrite(dataset_.get(), hdf5_type(identity_.type), memory.get(), disk.get(), H5P_DEFAULT, tokens.data()), path_,
      "add tokens to a shard");
  checksum_.update(tokens);
  written_ += count;
}

std::string ShardWriter::finish() {
  if (missing() != 0) throw ContractError("{}: shard finished with {} tokens missing", path_.string(), missing());
  dataset_.reset();
  file_.write_out();
  return checksum_.text();
}

}  // namespace segue

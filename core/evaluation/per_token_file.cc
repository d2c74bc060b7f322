// Two datasets that grow by a segment at a time.
#include "core/evaluation/per_token_file.h"

#include <array>

namespace segue {

namespace {

using Extents = std::array<hsize_t, 2>;

Hdf5Handle create_growing(const Hdf5MemoryFile& file, const char* name, hid_t type, int64_t streams) {
  constexpr hsize_t kChunkColumns = 4096;
  const Extents none{static_cast<hsize_t>(streams), 0};
  const Extents most{static_cast<hsize_t>(streams), H5S_UNLIMITED};
  const Extents chunk{1, kChunkColumns};
  const Hdf5Handle space(H5Screate_simple(2, none.data(), most.data()), H5Sclose);
  const Hdf5Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  hdf5_checked(H5Pset_chunk(layout.get(), 2, chunk.data()), file.path(), "set the chunk size");
  hdf5_checked(H5Pset_fletcher32(layout.get()), file.path(), "add the checksum filter");
  return {hdf5_checked(H5Dcreate2(file.get(), name, type, space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT),
                       file.path(), "create a dataset"),
          H5Dclose};
}

// Adds the columns `data` [streams, length] behind column `column`.
void append_columns(const Hdf5MemoryFile& file, hid_t dataset, hid_t type, const Extents& part, int64_t column,
                    const void* data) {
  const Extents extents{part[0], static_cast<hsize_t>(column) + part[1]};
  const Extents start{0, static_cast<hsize_t>(column)};
  hdf5_checked(H5Dset_extent(dataset, extents.data()), file.path(), "grow a dataset");
  const Hdf5Handle disk(H5Dget_space(dataset), H5Sclose);
  hdf5_checked(H5Sselect_hyperslab(disk.get(), H5S_SELECT_SET, start.data(), nullptr, part.data(), nullptr),
               file.path(), "select columns");
  const Hdf5Handle memory(H5Screate_simple(2, part.data(), nullptr), H5Sclose);
  hdf5_checked(H5Dwrite(dataset, type, memory.get(), disk.get(), H5P_DEFAULT, data), file.path(), "write losses");
}

}  // namespace

PerTokenFile::PerTokenFile(const std::filesystem::path& path, int64_t streams)
    : streams_(streams),
      file_(path),
      nll_(create_growing(file_, "nll", H5T_IEEE_F32LE, streams)),
      targets_(create_growing(file_, "targets", H5T_STD_I32LE, streams)) {}

void PerTokenFile::append(ConstTensorView targets, std::span<const float> nll) {
  const Hdf5Silence silence;
  const Extents part{static_cast<hsize_t>(streams_), static_cast<hsize_t>(targets.shape[1])};
  append_columns(file_, nll_.get(), H5T_NATIVE_FLOAT, part, tokens_, nll.data());
  append_columns(file_, targets_.get(), H5T_NATIVE_INT32, part, tokens_, targets.as<int32_t>());
  tokens_ += targets.shape[1];
}

void PerTokenFile::finish() {
  nll_.reset();
  targets_.reset();
  file_.write_out();
}

}  // namespace segue

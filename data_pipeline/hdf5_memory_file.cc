// HDF5's core driver, and its image on disk.
#include "data_pipeline/hdf5_memory_file.h"

#include <vector>

#include "base/file.h"

namespace segue {
namespace {

// The step by which the file grows in memory.
constexpr size_t kGrowthBytes = size_t{4} << 20;

// The file's head is of HDF5's oldest version: in a later one H5Fget_file_image clears the mark of an open file without
// mending the head's checksum. All that comes after the head is of version 1.10, whose chunk indices have checksums.
Hdf5Handle create_in_memory(const std::filesystem::path& path) {
  const Hdf5Silence silence;
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  hdf5_checked(H5Pset_fapl_core(access.get(), kGrowthBytes, false), path, "build a file in memory");
  hdf5_checked(H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V110), path,
               "choose the head's version");
  Hdf5Handle file(
      hdf5_checked(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), path, "create an HDF5 file"),
      H5Fclose);
  hdf5_checked(H5Fset_libver_bounds(file.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), path, "choose the index's version");
  return file;
}

}  // namespace

Hdf5MemoryFile::Hdf5MemoryFile(std::filesystem::path path) : path_(std::move(path)), file_(create_in_memory(path_)) {}

void Hdf5MemoryFile::write_out() {
  const Hdf5Silence silence;
  hdf5_checked(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), path_, "complete an HDF5 file");
  const ssize_t size = hdf5_checked(H5Fget_file_image(file_.get(), nullptr, 0), path_, "size an HDF5 file");
  std::vector<std::byte> image(static_cast<size_t>(size));
  hdf5_checked(H5Fget_file_image(file_.get(), image.data(), image.size()), path_, "take an HDF5 file out of memory");
  file_.reset();
  write_file_atomically(path_, {reinterpret_cast<const char*>(image.data()), image.size()});
}

}  // namespace segue

// HDF5's core driver, and its image on disk.
#include "data_pipeline/hdf5_memory_file.h"

#include <cstring>
#include <utility>

#include "base/file.h"

namespace segue {
namespace {

// The step by which the file grows in memory.
constexpr size_t kGrowthBytes = size_t{4} << 20;

// Of the oldest version of a file's head, its "consistency flags": not zero while the file is open.
constexpr size_t kOpenMark = 20;
constexpr size_t kOpenMarkBytes = 4;

// The file's head is of HDF5's oldest version, which has no checksum, so that the mark of an open file can be cleared.
// All that comes after the head is of version 1.10, whose chunk indices have checksums.
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
  void* driver = nullptr;  // what it gives is the pointer to the file's first byte
  hdf5_checked(H5Fget_vfd_handle(file_.get(), H5P_DEFAULT, &driver), path_, "find an HDF5 file in memory");
  char* image = *static_cast<char**>(driver);
  std::memset(image + kOpenMark, 0, kOpenMarkBytes);
  write_file_atomically(path_, {image, static_cast<size_t>(size)});
  file_.reset();
}

}  // namespace segue

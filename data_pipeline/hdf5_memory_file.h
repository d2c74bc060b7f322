// An HDF5 file built in memory and written out whole.
//
// HDF5 itself does not survive a disk that fills up while it closes a file (the identifier dangles and the program
// crashes at exit); written by our own hand, a full disk is an error like any other.
#pragma once

#include <filesystem>

#include "data_pipeline/hdf5_handle.h"

namespace segue {

class Hdf5MemoryFile {
 public:
  explicit Hdf5MemoryFile(std::filesystem::path path);  // nothing is created on disk
  hid_t get() const { return file_.get(); }
  const std::filesystem::path& path() const { return path_; }

  // Writes the file, whole or not at all. Every dataset in it must be closed. Throws FileError when the disk refuses.
  void write_out();

 private:
  std::filesystem::path path_;
  Hdf5Handle file_;
};

}  // namespace segue

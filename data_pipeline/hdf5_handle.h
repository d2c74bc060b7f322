// Owners of HDF5 identifiers, and HDF5's failures as one line of text. For writing only: data_pipeline/hdf5 reads.
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace segue {

// Closes an identifier of whatever kind on scope exit.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Hdf5Handle() { reset(); }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;

  hid_t get() const { return id_; }
  void reset() {
    if (id_ >= 0) close_(std::exchange(id_, H5I_INVALID_HID));
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

// While it lives, HDF5 does not print the errors of this thread; ours say what matters. Stands before the first HDF5
// call of a function.
class Hdf5Silence {
 public:
  Hdf5Silence();
  ~Hdf5Silence();
  Hdf5Silence(const Hdf5Silence&) = delete;
  Hdf5Silence& operator=(const Hdf5Silence&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* argument_ = nullptr;
};

// The innermost reason of this thread's last failed call: "unable to create file".
std::string hdf5_reason();

// `result` of an HDF5 call, whatever its integer type, when it is a success.
// Throws DataError "<file>: cannot <what>: <reason>" otherwise.
template <typename Result>
Result hdf5_checked(Result result, const std::filesystem::path& file, std::string_view what) {
  if (result < 0) throw DataError("{}: cannot {}: {}", file.string(), what, hdf5_reason());
  return result;
}

}  // namespace segue

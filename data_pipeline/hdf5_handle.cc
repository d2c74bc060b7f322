// HDF5's error stack, silenced and read.
#include "data_pipeline/hdf5_handle.h"

#include <algorithm>

namespace segue {
namespace {

// HDF5 calls this for each entry of its stack; the first one upward is where the failure began.
herr_t keep_first(unsigned depth, const H5E_error2_t* entry, void* text) {
  if (depth == 0 && entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

}  // namespace

Hdf5Silence::Hdf5Silence() {
  H5Eget_auto2(H5E_DEFAULT, &print_, &argument_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Silence::~Hdf5Silence() { H5Eset_auto2(H5E_DEFAULT, print_, argument_); }

std::string hdf5_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "HDF5 gives no reason" : text;
}

}  // namespace segue

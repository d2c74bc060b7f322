#include "data_pipeline/shard.h"

#include "base/error.h"

namespace segue {

hid_t hdf5_type(TokenType type) {
  switch (type) {
    case TokenType::kUInt8:
      return H5T_STD_U8LE;
    case TokenType::kUInt16:
      return H5T_STD_U16LE;
    case TokenType::kUInt32:
      return H5T_STD_U32LE;
  }
  throw ContractError("token type {} is unknown", static_cast<int>(type));
}

Hdf5Handle hdf5_selection(int64_t extent, int64_t offset, int64_t count) {
  const auto size = static_cast<hsize_t>(extent);
  const auto begin = static_cast<hsize_t>(offset);
  const auto length = static_cast<hsize_t>(count);
  Hdf5Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  if (space.get() < 0 || H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &begin, nullptr, &length, nullptr) < 0)
    throw ContractError("cannot select {} tokens at {} of {}: {}", count, offset, extent, hdf5_reason());
  return space;
}

}  // namespace segue

// The header of NumPy's .npy format: what an array is, written as a Python dictionary before its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json_text.h"

namespace segue {

struct NpyDescription {
  std::string dtype;  // as NumPy writes it: "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;
  int64_t header_bytes = 0;  // the elements follow
};

// Reads versions 1 to 3 from the first bytes of a file. Raises, beginning with `where`, for other files, a header that
// is longer than `begin`, elements of several numbers, and whatever else NumPy does not write.
NpyDescription read_npy_description(std::span<const std::byte> begin, const std::string& where, RaiseError raise);

// The elements of a shape; -1 where bytes of `element_bytes` each would be more than an int64 holds.
int64_t elements_of_shape(const std::vector<int64_t>& shape, int64_t element_bytes);

// "[3, 4]".
std::string text_of_shape(const std::vector<int64_t>& shape);

}  // namespace segue

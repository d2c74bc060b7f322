// The header of NumPy's .npy format: what the array is, written as a Python dictionary before its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/tensor.h"

namespace segue {

struct NpyHeader {
  DType dtype = DType::kFloat32;
  Shape shape;
  int64_t bytes = 0;  // of the header itself; the elements follow
};

// More than any header that NumPy writes for an array of at most Shape::kMaxRank extents.
inline constexpr int64_t kLongestNpyHeader = 4096;

// Reads it from the first bytes of a file: all of them, or kLongestNpyHeader. Throws CheckpointError beginning with
// `where` for other files and for what is not read: elements that are not little-endian float16, float32, float64,
// int32 or int64 (Python objects above all), Fortran order, more than Shape::kMaxRank extents, a shape that overflows.
NpyHeader read_npy_header(std::span<const std::byte> begin, const std::string& where);

}  // namespace segue

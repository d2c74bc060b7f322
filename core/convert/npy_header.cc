// The types and shapes of weights, among all that NumPy can describe.
#include "core/convert/npy_header.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/npy_header.h"

namespace segue {

namespace {

constexpr size_t kLongestShown = 40;

struct Description {
  std::string_view name;
  DType dtype;
};
constexpr std::array kDescriptions = {Description{"<f4", DType::kFloat32}, Description{"<f8", DType::kFloat64},
                                      Description{"<f2", DType::kFloat16}, Description{"<i4", DType::kInt32},
                                      Description{"<i8", DType::kInt64}};

DType dtype_called(const std::string& name, const std::string& where) {
  const auto* const known =
      std::ranges::find_if(kDescriptions, [&name](const Description& each) { return each.name == name; });
  if (known != kDescriptions.end()) return known->dtype;
  if (name == "|O") throw CheckpointError("{}: holds pickled Python objects (dtype object), which are not read", where);
  throw CheckpointError("{}: dtype: expected <f4, <f8, <f2, <i4 or <i8, found {}", where,
                        printable_line(name, kLongestShown));
}

}  // namespace

NpyHeader read_npy_header(std::span<const std::byte> begin, const std::string& where) {
  const NpyDescription found = read_npy_description(begin, where, &raise_as<CheckpointError>);
  NpyHeader header{dtype_called(found.dtype, where), {}, found.header_bytes};
  if (found.fortran_order) throw CheckpointError("{}: expected an array in C order, found Fortran order", where);
  if (found.shape.size() > Shape::kMaxRank)
    throw CheckpointError("{}: shape: expected at most {} extents, found {}", where, Shape::kMaxRank,
                          found.shape.size());
  if (elements_of_shape(found.shape, bytes_of(header.dtype)) < 0)
    throw CheckpointError("{}: shape {} overflows", where, text_of_shape(found.shape));
  for (const int64_t extent : found.shape) header.shape.append(extent);
  return header;
}

}  // namespace segue

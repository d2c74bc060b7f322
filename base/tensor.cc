// Extents, element sizes and names.
#include "base/tensor.h"

#include <fmt/ranges.h>

#include <span>

namespace segue {

int64_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
    case DType::kFloat32:
    case DType::kUInt32:
    case DType::kInt32:
      return 4;
    case DType::kBFloat16:
    case DType::kFloat16:
    case DType::kUInt16:
      return 2;
    case DType::kUInt8:
      return 1;
  }
  throw ContractError("unknown dtype {}", static_cast<int>(dtype));
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float32";
    case DType::kFloat64:
      return "float64";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kFloat16:
      return "float16";
    case DType::kUInt8:
      return "uint8";
    case DType::kUInt16:
      return "uint16";
    case DType::kUInt32:
      return "uint32";
    case DType::kInt32:
      return "int32";
    case DType::kInt64:
      return "int64";
  }
  throw ContractError("unknown dtype {}", static_cast<int>(dtype));
}

Shape::Shape(std::initializer_list<int64_t> dims) {
  for (const int64_t dim : dims) append(dim);
}

void Shape::append(int64_t dim) {
  if (dim < 0) throw ContractError("negative extent {}", dim);
  if (rank_ == kMaxRank) throw ContractError("more than {} extents", kMaxRank);
  dims_[static_cast<size_t>(rank_++)] = dim;
}

int64_t Shape::elements() const {
  int64_t count = 1;
  for (int i = 0; i < rank_; ++i) {
    if (__builtin_mul_overflow(count, (*this)[i], &count)) throw ContractError("shape {} overflows", text());
  }
  return count;
}

std::string Shape::text() const {
  return fmt::format("[{}]", fmt::join(std::span(dims_.data(), static_cast<size_t>(rank_)), ", "));
}

}  // namespace segue

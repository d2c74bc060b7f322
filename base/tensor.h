// Shapes, element types, and the non-owning tensor views that every module passes around.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace segue {

enum class DType : uint8_t { kFloat32, kFloat64, kBFloat16, kFloat16, kUInt8, kUInt16, kUInt32, kInt32, kInt64 };

int64_t bytes_of(DType dtype);
std::string_view name_of(DType dtype);  // "float32", ...

template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kFloat64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::kUInt8;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::kUInt16;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::kUInt32;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::kInt64;
}

// Up to six extents, outermost first; rank 0 is a scalar with one element. Never allocates.
class Shape {
 public:
  static constexpr int kMaxRank = 6;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);  // throws ContractError on a negative extent or too many
  void append(int64_t dim);

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  int64_t elements() const;
  bool operator==(const Shape&) const = default;
  std::string text() const;  // "[2, 3]"

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// A contiguous row-major block of elements owned by someone else. `Byte` is std::byte or const std::byte.
template <typename Byte>
struct BasicTensorView {
  Byte* data = nullptr;
  DType dtype = DType::kFloat32;
  Shape shape;

  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return elements() * bytes_of(dtype); }
  bool empty() const { return data == nullptr || elements() == 0; }

  // The elements as T*; throws ContractError when T is not the view's dtype.
  template <typename T>
  auto as() const {
    using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
    if (dtype_of<T>() != dtype) throw ContractError("tensor read as {}, is {}", name_of(dtype_of<T>()), name_of(dtype));
    return reinterpret_cast<Element*>(data);
  }

  // The same elements under another shape of equal size.
  BasicTensorView reshaped(const Shape& other) const {
    if (other.elements() != elements()) throw ContractError("cannot view {} as {}", shape.text(), other.text());
    return {data, dtype, other};
  }

  // Rows [begin, begin + count) of the outermost extent.
  BasicTensorView rows(int64_t begin, int64_t count) const {
    if (shape.rank() == 0 || begin < 0 || count < 0 || begin + count > shape[0])
      throw ContractError("rows {}..{} of {}", begin, begin + count, shape.text());
    Shape part{count};
    for (int i = 1; i < shape.rank(); ++i) part.append(shape[i]);
    const int64_t row_bytes = shape[0] == 0 ? 0 : bytes() / shape[0];
    return {data + begin * row_bytes, dtype, part};
  }

  operator BasicTensorView<const std::byte>() const {
    return {data, dtype, shape};
  }  // NOLINT(google-explicit-constructor)
};

using TensorView = BasicTensorView<std::byte>;
using ConstTensorView = BasicTensorView<const std::byte>;

template <typename T>
TensorView view_of(T* data, const Shape& shape) {
  return {reinterpret_cast<std::byte*>(data), dtype_of<T>(), shape};
}
template <typename T>
ConstTensorView view_of(const T* data, const Shape& shape) {
  return {reinterpret_cast<const std::byte*>(data), dtype_of<T>(), shape};
}

}  // namespace segue

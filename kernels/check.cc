// The wording of broken contracts.
#include "kernels/check.h"

#include "base/error.h"

namespace segue::kernels {

namespace {

bool overlap(ConstTensorView a, ConstTensorView b) {
  if (a.empty() || b.empty()) return false;
  return a.data < b.data + b.bytes() && b.data < a.data + a.bytes();
}

}  // namespace

void Contract::tensor(std::string_view name, ConstTensorView found, DType dtype, const Shape& shape) const {
  if (found.dtype != dtype || found.shape != shape) {
    throw ContractError("{}: {}: expected {} {}, found {} {}", operation_, name, name_of(dtype), shape.text(),
                        name_of(found.dtype), found.shape.text());
  }
  if (found.data == nullptr && found.elements() > 0)
    throw ContractError("{}: {}: expected {} {}, found no data", operation_, name, name_of(dtype), shape.text());
}

void Contract::floats(std::string_view name, ConstTensorView found, const Shape& shape) const {
  tensor(name, found, DType::kFloat32, shape);
}

void Contract::rank(std::string_view name, ConstTensorView found, int rank) const {
  if (found.shape.rank() != rank)
    throw ContractError("{}: {}: expected {} extents, found {}", operation_, name, rank, found.shape.text());
  floats(name, found, found.shape);
}

DType Contract::activation(std::string_view name, ConstTensorView found, int rank) const {
  if (found.dtype != DType::kBFloat16) {
    this->rank(name, found, rank);
    return DType::kFloat32;
  }
  if (found.shape.rank() != rank)
    throw ContractError("{}: {}: expected {} extents, found {}", operation_, name, rank, found.shape.text());
  tensor(name, found, DType::kBFloat16, found.shape);
  return DType::kBFloat16;
}

void Contract::absent(std::string_view name, ConstTensorView found, std::string_view because) const {
  if (!found.empty())
    throw ContractError("{}: {}: expected empty {}, found {}", operation_, name, because, found.shape.text());
}

void Contract::disjoint(std::string_view name, ConstTensorView a, std::string_view other, ConstTensorView b) const {
  if (overlap(a, b))
    throw ContractError("{}: {}: expected memory apart from {}, found an overlap", operation_, name, other);
}

void Contract::same_or_disjoint(std::string_view name, ConstTensorView a, std::string_view other,
                                ConstTensorView b) const {
  if (a.data != b.data || a.bytes() != b.bytes()) disjoint(name, a, other, b);
}

void Contract::indices(std::string_view name, ConstTensorView found, int64_t limit, Device device,
                       int64_t lowest) const {
  const int64_t count = found.shape.rank() == 1 ? found.shape[0] : 0;
  tensor(name, found, DType::kInt32, {count});
  if (device.is_cuda()) return;
  const int32_t* values = found.as<int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] < lowest || values[i] >= limit)
      throw ContractError("{}: {}[{}]: expected [{}, {}), found {}", operation_, name, i, lowest, limit, values[i]);
  }
}

void Contract::refuse_number(std::string_view name, double found, std::string_view expected) const {
  throw ContractError("{}: {}: expected {}, found {}", operation_, name, expected, found);
}

void Contract::probability(std::string_view name, double found) const {
  number(name, found, found >= 0.0 && found <= 1.0, "[0, 1]");
}

}  // namespace segue::kernels

#include "core/kinds/row_numbers.h"

namespace segue {

OwnedTensor row_numbers(const Shape& shape, int64_t period) {
  OwnedTensor numbers(DType::kInt32, shape);
  for (int64_t i = 0; i < shape.elements(); ++i) numbers.as<int32_t>()[i] = static_cast<int32_t>(i % shape[1] % period);
  return numbers;
}

OwnedTensor rows_after_each(const Shape& shape) {
  OwnedTensor after = row_numbers(shape, shape[1]);
  auto* rows = after.as<int32_t>();
  for (int64_t i = 0; i < shape.elements(); ++i) rows[i] = static_cast<int32_t>(shape[1] - 1 - rows[i]);
  return after;
}

}  // namespace segue

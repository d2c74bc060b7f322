// Element by element; imports are rare and small beside training.
#include "core/convert/transpose.h"

namespace segue {

OwnedTensor transposed(ConstTensorView matrix) {
  const int64_t rows = matrix.shape[0];
  const int64_t columns = matrix.shape[1];
  OwnedTensor result(DType::kFloat32, {columns, rows});
  const auto* from = matrix.as<float>();
  auto* to = result.as<float>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) to[column * rows + row] = from[row * columns + column];
  }
  return result;
}

OwnedTensor with_rows_reversed(ConstTensorView tensor) {
  OwnedTensor result(DType::kFloat32, tensor.shape);
  const int64_t rows = tensor.shape[0];
  for (int64_t row = 0; row < rows; ++row) {
    copy_tensor(result.view().rows(row, 1), tensor.rows(rows - 1 - row, 1), Device{});
  }
  return result;
}

}  // namespace segue

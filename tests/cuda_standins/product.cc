// Sums in double, rounded once.
#include "tests/cuda_standins/product.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "base/bfloat16.h"
#include "tests/cuda_standins/gpu.h"
#include "tests/cuda_standins/memory.h"

namespace segue::standin {

namespace {

double load(cudaDataType_t type, const void* data, int64_t element) {
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[element];
  return static_cast<float>(static_cast<const BFloat16*>(data)[element]);
}

void store(cudaDataType_t type, void* data, int64_t element, double value) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(data)[element] = static_cast<float>(value);
  } else {
    static_cast<BFloat16*>(data)[element] = BFloat16(static_cast<float>(value));
  }
}

// The matrix with its rows one behind the other, or its columns.
std::vector<double> unpacked(const Matrix& matrix, const void* data, bool by_rows) {
  std::vector<double> values;
  const int64_t outer = by_rows ? matrix.rows : matrix.columns;
  const int64_t inner = by_rows ? matrix.columns : matrix.rows;
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < inner; ++j)
      values.push_back(load(matrix.type, data, by_rows ? j * matrix.stride + i : i * matrix.stride + j));
  }
  return values;
}

// sums[column * rows + row] of the terms from `first` to `last`.
template <typename Sum>
void multiply(const Product& product, const Operands& operands, int64_t first, int64_t last, const Sum& sum) {
  const std::vector<double> a = unpacked(product.a, operands.a, !product.transpose_a);
  const std::vector<double> b = unpacked(product.b, operands.b, product.transpose_b);
  const int64_t depth = product.columns_of_a();
  for (int64_t column = 0; column < product.d.columns; ++column) {
    for (int64_t row = 0; row < product.d.rows; ++row) {
      double value = 0.0;
      for (int64_t l = first; l < last; ++l) value += a[row * depth + l] * b[column * depth + l];
      sum(row, column, value);
    }
  }
}

void finish(const Product& product, const Operands& operands, int64_t row, int64_t column, double sum) {
  const int64_t element = column * product.d.stride + row;
  double value = static_cast<double>(operands.alpha) * sum;
  if (operands.beta != 0.0F) value += static_cast<double>(operands.beta) * load(product.d.type, operands.c, element);
  if (product.has_bias) value += load(product.d.type, operands.bias, row);
  if (product.relu && value < 0.0) value = 0.0;
  store(product.d.type, operands.d, element, value);
}

bool reaches_all(const Product& product, const Operands& operands) {
  const size_t bias_bytes = Matrix{product.d.type, product.d.rows, 1, product.d.rows}.bytes();
  return gpu_reaches(operands.a, product.a.bytes()) && gpu_reaches(operands.b, product.b.bytes()) &&
         gpu_reaches(operands.c, product.d.bytes()) && gpu_reaches(operands.d, product.d.bytes()) &&
         (!product.has_bias || gpu_reaches(operands.bias, bias_bytes));
}

cudaError_t multiply_at_once(const Product& product, const Operands& operands) {
  if (!reaches_all(product, operands)) return cudaErrorIllegalAddress;
  multiply(product, operands, 0, product.columns_of_a(),
           [&](int64_t row, int64_t column, double value) { finish(product, operands, row, column, value); });
  return cudaSuccess;
}

struct Split {
  int64_t elements;  // of one part
  size_t bytes;
};
Split split_of(const Product& product, const Operands& operands) {
  const int64_t elements = product.d.rows * product.d.columns;
  return {elements, static_cast<size_t>(elements * operands.splits) * sizeof(float)};
}

cudaError_t sum_parts(const Product& product, const Operands& operands) {
  const Split split = split_of(product, operands);
  if (!reaches_all(product, operands) || !gpu_reaches(operands.partial_sums, split.bytes))
    return cudaErrorIllegalAddress;
  const int64_t depth = product.columns_of_a();
  for (int64_t part = 0; part < operands.splits; ++part) {
    float* sums = operands.partial_sums + part * split.elements;
    multiply(product, operands, depth * part / operands.splits, depth * (part + 1) / operands.splits,
             [&](int64_t row, int64_t column, double value) {
               sums[column * product.d.rows + row] = static_cast<float>(value);
             });
  }
  return cudaSuccess;
}

// Leaves NaN in the workspace: its content is of no use afterwards.
cudaError_t add_parts(const Product& product, const Operands& operands) {
  const Split split = split_of(product, operands);
  if (!reaches_all(product, operands) || !gpu_reaches(operands.partial_sums, split.bytes))
    return cudaErrorIllegalAddress;
  for (int64_t column = 0; column < product.d.columns; ++column) {
    for (int64_t row = 0; row < product.d.rows; ++row) {
      double sum = 0.0;
      for (int64_t part = 0; part < operands.splits; ++part)
        sum += static_cast<double>(operands.partial_sums[part * split.elements + column * product.d.rows + row]);
      finish(product, operands, row, column, sum);
    }
  }
  std::fill_n(operands.partial_sums, split.elements * operands.splits, std::numeric_limits<float>::quiet_NaN());
  return cudaSuccess;
}

}  // namespace

uint64_t Product::hash() const {
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](int64_t value) { hash = (hash ^ std::hash<int64_t>()(value)) * 0x100000001b3; };
  for (const Matrix& matrix : {a, b, d}) {
    mix(matrix.type);
    mix(matrix.rows);
    mix(matrix.columns);
    mix(matrix.stride);
  }
  for (const bool flag : {transpose_a, transpose_b, has_bias, relu}) mix(flag ? 1 : 2);
  return hash;
}

cudaError_t queue_product(const Product& product, const Operands& operands, cudaStream_t stream) {
  if (operands.splits == 1) return launch_kernel(stream, [=] { return multiply_at_once(product, operands); });
  const cudaError_t status = launch_kernel(stream, [=] { return sum_parts(product, operands); });
  if (status != cudaSuccess) return status;
  return launch_kernel(stream, [=] { return add_parts(product, operands); });
}

}  // namespace segue::standin

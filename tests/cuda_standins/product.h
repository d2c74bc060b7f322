// A product as cuBLASLt's stand-in computes it: of matrices that lie column by column.
#pragma once

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstdint>

namespace segue::standin {

struct Matrix {
  cudaDataType_t type = CUDA_R_32F;  // or CUDA_R_16BF
  int64_t rows = 0, columns = 0;
  int64_t stride = 0;  // from one column to the next

  bool is_possible() const { return rows > 0 && columns > 0 && stride >= rows; }
  size_t bytes() const { return static_cast<size_t>((columns - 1) * stride + rows) * (type == CUDA_R_32F ? 4 : 2); }
  bool operator==(const Matrix&) const = default;
};

// d = relu(alpha op(a) op(b) + beta c + bias), where c is as d is.
struct Product {
  Matrix a, b, d;
  bool transpose_a = false, transpose_b = false, has_bias = false, relu = false;

  int64_t rows_of_a() const { return transpose_a ? a.columns : a.rows; }
  int64_t columns_of_a() const { return transpose_a ? a.rows : a.columns; }
  int64_t rows_of_b() const { return transpose_b ? b.columns : b.rows; }
  int64_t columns_of_b() const { return transpose_b ? b.rows : b.columns; }
  uint64_t hash() const;
};

struct Operands {
  const void *a, *b, *c;
  void* d;
  const void* bias;
  float alpha, beta;
  float* partial_sums;  // of each part of the sum over k, when there are several
  int64_t splits;
};

// Partial sums and what is made of them are two pieces of work, as with kernels: whoever uses the same workspace
// between them spoils them.
cudaError_t queue_product(const Product& product, const Operands& operands, cudaStream_t stream);

}  // namespace segue::standin

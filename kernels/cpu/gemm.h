// Matrix products on row-major blocks that may lie inside larger tensors, by oneDNN.
//
// oneDNN's matmul compiles a kernel for a shape, which takes longer than a product: they are kept by the queue. On
// processors with AVX-512, where a and b are dense, a row of c does not depend on how many rows there are: a text's
// losses are the same in any batch. On others, and of strided operands, oneDNN sums few rows in another order than
// many.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/buffer.h"
#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels::cpu {

// c = op(a) · op(b) + bias, or c += op(a) · op(b). Strides count elements from one stored row to the next.
struct Gemm {
  int64_t m = 0;  // rows of c
  int64_t n = 0;  // columns of c
  int64_t k = 0;
  const void* a = nullptr;  // [m, k], or [k, m] when transpose_a
  int64_t a_stride = 0;
  const void* b = nullptr;  // [k, n], or [n, k] when transpose_b
  int64_t b_stride = 0;
  const float* bias = nullptr;  // [n], or null, as it is when c accumulates
  void* c = nullptr;            // [m, n]
  int64_t c_stride = 0;
  DType operands = DType::kFloat32;  // of a and b, float32 or bfloat16
  DType result = DType::kFloat32;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
};

// With all threads of the queue; throws DeviceError when oneDNN refuses.
void gemm(const Queue& queue, const Gemm& args);

// With the calling thread alone, inside a parallel region.
void gemm_in_thread(const Queue& queue, const Gemm& args);

// How many threads a product is worth.
int threads_for(const Queue& queue, const Gemm& args);

// Whether oneDNN has kernels for them here.
bool has_bfloat16_products();
bool has_avx512_products();

// The library and the instructions it uses: "oneDNN 2.6.3 (avx512_core_bf16)".
std::string name_of_products();

// The products that a queue has met.
class Products {
 public:
  Products();
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // So many floats, for products that are not oneDNN's; asked for more, what it held is lost.
  float* scratch(int64_t floats);

  // With so many threads; with several users the caller is one of so many threads of a parallel region.
  void run(const Gemm& args, int threads, int users);

 private:
  using Key = std::array<int64_t, 14>;  // all that a kernel is compiled for
  class Product;
  std::shared_ptr<Product> product_for(const Gemm& args, int threads, int users);

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Product>> products_;
  int64_t scratch_bytes_ = 0;  // of all
  Buffer scratch_;
};

}  // namespace segue::kernels::cpu

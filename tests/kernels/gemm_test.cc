// Products inside larger tensors, on all threads and inside one.
#include "kernels/cpu/gemm.h"

#include "tests/kernels/testing.h"

namespace segue::kernels {

namespace {

double at(const OwnedTensor& tensor, int64_t stride, int64_t row, int64_t column) {
  return tensor.as<float>()[row * stride + column];
}

TEST(Gemm, ReadsAndWritesInsideLargerRows) {
  Stream stream(2);
  for (const bool in_thread : {false, true}) {
    for (const bool transpose_a : {false, true}) {
      const int64_t m = 5, n = 7, k = 33, a_stride = 40, b_stride = 11, c_stride = 9;
      const OwnedTensor a = random_tensor({40, a_stride}, 1), b = random_tensor({k, b_stride}, 2);
      OwnedTensor c = random_tensor({m, c_stride}, 3);
      const OwnedTensor before = copy_of(c.view());
      const cpu::Gemm args{.m = m,
                           .n = n,
                           .k = k,
                           .a = a.as<float>(),
                           .a_stride = a_stride,
                           .transpose_a = transpose_a,
                           .b = b.as<float>(),
                           .b_stride = b_stride,
                           .c = c.as<float>(),
                           .c_stride = c_stride,
                           .accumulate = true};
      in_thread ? cpu::gemm_in_thread(args) : cpu::gemm(stream, args);
      std::vector<double> expected = oracle_values(before.view());
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          for (int64_t l = 0; l < k; ++l)
            expected[static_cast<size_t>(i * c_stride + j)] +=
                (transpose_a ? at(a, a_stride, l, i) : at(a, a_stride, i, l)) * at(b, b_stride, l, j);
      expect_close("c", c.view(), expected, kReduction);
    }
  }
}

TEST(Gemm, EmptyInnerExtentClearsOrKeeps) {
  Stream stream(1);
  OwnedTensor c = filled_tensor({2, 2}, 3.0F);
  cpu::Gemm args{.m = 2, .n = 2, .k = 0, .c = c.as<float>(), .c_stride = 2, .accumulate = true};
  cpu::gemm(stream, args);
  expect_identical("kept", c.view(), filled_tensor({2, 2}, 3.0F).view());
  args.accumulate = false;
  cpu::gemm(stream, args);
  expect_identical("cleared", c.view(), filled_tensor({2, 2}, 0.0F).view());
}

}  // namespace

}  // namespace segue::kernels

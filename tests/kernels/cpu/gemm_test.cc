// Products inside larger tensors, on all threads and inside one.
#include "kernels/cpu/gemm.h"

#include "tests/kernels/bfloat16.h"
#include "tests/kernels/testing.h"

namespace segue::kernels {

namespace {

struct Case {
  DType operands;
  int64_t m;
  bool transpose_a, in_thread;
};

class GemmTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_products_of(GetParam().operands)) GTEST_SKIP() << "no bf16 products here";
  }

  static constexpr int64_t kN = 7, kK = 33, kAStride = 40, kBStride = 11, kCStride = 9;

  TestTensor a_ = cast(random_tensor({40, kAStride}, 1), GetParam().operands);
  TestTensor b_ = cast(random_tensor({kK, kBStride}, 2), GetParam().operands);
  TestTensor bias_ = random_tensor({kN}, 4), c_ = random_tensor({GetParam().m, kCStride}, 3);
  std::vector<double> before_ = oracle_values(c_.view());
  Queue queue_{2};

  cpu::Gemm arguments() {
    return {.m = GetParam().m,
            .n = kN,
            .k = kK,
            .a = a_.view().data,
            .a_stride = kAStride,
            .b = b_.view().data,
            .b_stride = kBStride,
            .c = c_.as<float>(),
            .c_stride = kCStride,
            .operands = GetParam().operands,
            .transpose_a = GetParam().transpose_a};
  }
  void run(const cpu::Gemm& args) {
    GetParam().in_thread ? cpu::gemm_in_thread(queue_, args) : cpu::gemm(queue_, args);
  }
  // Elements around the block stay as they were.
  std::vector<double> expected(const TestTensor* bias) const {
    const std::vector<double> a = oracle_values(a_.view()), b = oracle_values(b_.view());
    std::vector<double> c = before_;
    for (int64_t i = 0; i < GetParam().m; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        double& element = c[static_cast<size_t>(i * kCStride + j)];
        if (bias != nullptr) element = static_cast<double>(bias->as<float>()[j]);
        for (int64_t l = 0; l < kK; ++l)
          element += a[static_cast<size_t>(GetParam().transpose_a ? l * kAStride + i : i * kAStride + l)] *
                     b[static_cast<size_t>(l * kBStride + j)];
      }
    }
    return c;
  }
};

TEST_P(GemmTest, AddsInsideLargerRows) {
  cpu::Gemm args = arguments();
  args.accumulate = true;
  run(args);
  expect_close("c", c_.view(), expected(nullptr), kReduction);
}

TEST_P(GemmTest, BeginsWithABias) {
  cpu::Gemm args = arguments();
  args.bias = bias_.as<float>();
  run(args);
  expect_close("c", c_.view(), expected(&bias_), kReduction);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DType operands : {DType::kFloat32, DType::kBFloat16})
    for (const int64_t m : {5, 37})
      for (const bool transpose_a : {false, true})
        for (const bool in_thread : {false, true}) all.push_back({operands, m, transpose_a, in_thread});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Gemm, GemmTest, testing::ValuesIn(cases()));

// The first `rows` rows of a times b, of the same dtype, in rows of `stride` elements.
TestTensor product_of_rows(const Queue& queue, const TestTensor& a, const TestTensor& b, int64_t rows, int64_t stride) {
  const int64_t columns = b.shape()[0], depth = b.shape()[1];
  TestTensor c = cast(filled_tensor({rows, stride}, 0.0F), a.view().dtype);
  cpu::gemm(queue, {.m = rows,
                    .n = columns,
                    .k = depth,
                    .a = a.view().data,
                    .a_stride = depth,
                    .b = b.view().data,
                    .b_stride = depth,
                    .c = c.view().data,
                    .c_stride = stride,
                    .operands = a.view().dtype,
                    .result = a.view().dtype,
                    .transpose_b = true});
  return c;
}

class GemmRows : public testing::TestWithParam<DType> {
 protected:
  // Without AVX-512, oneDNN sums few rows in another order than many, and gemm.h promises nothing.
  void SetUp() override {
    if (cpu::name_of_products().find("avx512") == std::string::npos) GTEST_SKIP() << "no AVX-512 here";
    if (!has_products_of(GetParam())) GTEST_SKIP() << "no bf16 products here";
  }
};
INSTANTIATE_TEST_SUITE_P(Gemm, GemmRows, testing::Values(DType::kFloat32, DType::kBFloat16));

// Evaluation counts on it: losses do not depend on the batch.
TEST_P(GemmRows, AreTheSameInAnyCompany) {
  constexpr int64_t kRows = 300, kDepth = 520;
  const TestTensor a = cast(random_tensor({kRows, kDepth}, 1), GetParam());
  const TestTensor b = cast(random_tensor({96, kDepth}, 2), GetParam());
  for (const int64_t stride : {96, 128}) {
    for (const int threads : {1, 2}) {
      const Queue queue(threads);
      TestTensor all = product_of_rows(queue, a, b, kRows, stride);
      for (const int64_t rows : {1, 2, 7, 16, 31, 64, 299})
        expect_identical("rows", product_of_rows(queue, a, b, rows, stride).view(), all.view().rows(0, rows));
    }
  }
}

// Texts of all lengths need more products than are kept. Within a tolerance: see GemmRows.
TEST(Gemm, AnyNumberOfShapes) {
  constexpr int64_t kShapes = 1100;
  const TestTensor a = random_tensor({kShapes, 3}, 1), b = random_tensor({2, 3}, 2);
  const Queue queue(1);
  TestTensor all = product_of_rows(queue, a, b, kShapes, 2);
  for (int64_t rows = 1; rows < kShapes; ++rows)
    expect_close("rows", product_of_rows(queue, a, b, rows, 2).view(), oracle_values(all.view().rows(0, rows)),
                 kReduction);
}

TEST(Gemm, EmptyInnerExtentClearsOrKeeps) {
  Queue queue(1);
  TestTensor c = filled_tensor({2, 2}, 3.0F);
  cpu::Gemm args{.m = 2, .n = 2, .k = 0, .c = c.as<float>(), .c_stride = 2, .accumulate = true};
  cpu::gemm(queue, args);
  expect_identical("kept", c.view(), filled_tensor({2, 2}, 3.0F).view());
  args.accumulate = false;
  cpu::gemm(queue, args);
  expect_identical("cleared", c.view(), filled_tensor({2, 2}, 0.0F).view());
  TestTensor narrow = cast(filled_tensor({2, 2}, 3.0F), DType::kBFloat16);
  args.c = narrow.view().data;
  args.result = DType::kBFloat16;
  cpu::gemm(queue, args);
  expect_identical("cleared", narrow.view(), cast(filled_tensor({2, 2}, 0.0F), DType::kBFloat16).view());
}

}  // namespace

}  // namespace segue::kernels

// c (+)= aᵀ · b, as processors without AVX-512 compute it.
#include "kernels/cpu/transposed_product.h"

#include <omp.h>

#include "kernels/thread_team.h"
#include "tests/kernels/testing.h"

namespace segue::kernels::cpu {

namespace {

struct Extents {
  int64_t m, n, k;
};

// A queue changes how the thread that makes it counts subnormal numbers; tests of functions that follow count all.
class AsBefore {
 public:
  AsBefore() = default;
  ~AsBefore() { team_.enter(); }
  AsBefore(const AsBefore&) = delete;
  AsBefore& operator=(const AsBefore&) = delete;

 private:
  ThreadTeam team_ = ThreadTeam::current();
};

// The operands lie inside larger rows.
class TransposedProduct : public testing::TestWithParam<Extents> {
 protected:
  static constexpr int64_t kBeside = 3;

  TransposedProduct()
      : a_(random_tensor({k(), m() + kBeside}, 1)),
        b_(random_tensor({k(), n() + kBeside}, 2)),
        c_(random_tensor({m(), n() + kBeside}, 3)) {}

  static int64_t m() { return GetParam().m; }
  static int64_t n() { return GetParam().n; }
  static int64_t k() { return GetParam().k; }

  Gemm into(TestTensor& c) const {
    return {.m = m(),
            .n = n(),
            .k = k(),
            .a = a_.as<float>(),
            .a_stride = m() + kBeside,
            .b = b_.as<float>(),
            .b_stride = n() + kBeside,
            .c = c.as<float>(),
            .c_stride = n() + kBeside,
            .transpose_a = true,
            .accumulate = true};
  }
  std::vector<double> expected(bool accumulate) const {
    std::vector<double> c = oracle_values(c_.view());
    for (int64_t i = 0; i < m(); ++i) {
      for (int64_t j = 0; j < n(); ++j) {
        double& sum = c[static_cast<size_t>(i * (n() + kBeside) + j)];
        if (!accumulate) sum = 0.0;
        for (int64_t t = 0; t < k(); ++t)
          sum += static_cast<double>(a_.as<float>()[t * (m() + kBeside) + i]) *
                 static_cast<double>(b_.as<float>()[t * (n() + kBeside) + j]);
      }
    }
    return c;
  }

  AsBefore as_before_;
  TestTensor a_, b_, c_;
};

TEST_P(TransposedProduct, EqualsSums) {
  for (const bool accumulate : {false, true}) {
    TestTensor c = copy_of(c_.view());
    Gemm args = into(c);
    args.accumulate = accumulate;
    transposed_product(Queue(2), args);
    expect_close("c", c.view(), expected(accumulate), kReduction);
  }
}

TEST_P(TransposedProduct, ThreadsDoNotChangeABit) {
  TestTensor c = copy_of(c_.view());
  transposed_product(Queue(1), into(c));
  for (const int threads : {2, 3, 8}) {
    TestTensor same = copy_of(c_.view());
    transposed_product(Queue(threads), into(same));
    expect_identical("c", same.view(), c.view());
  }
}

// Each of as many callers has scratch of its own.
TEST_P(TransposedProduct, InThreads) {
  constexpr int kThreads = 3;
  const Queue queue(kThreads);
  TestTensor c = copy_of(c_.view());
  transposed_product(queue, into(c));
  std::array<TestTensor, kThreads> same;
  for (TestTensor& each : same) each = copy_of(c_.view());
#pragma omp parallel num_threads(kThreads)
  transposed_product_in_thread(queue, into(same.at(static_cast<size_t>(omp_get_thread_num()))));
  for (const TestTensor& each : same) expect_identical("c", each.view(), c.view());
}

// Less than a block, edges of one row, column and term beside whole blocks, and more than is copied at a time.
INSTANTIATE_TEST_SUITE_P(Extents, TransposedProduct,
                         testing::Values(Extents{1, 1, 1}, Extents{5, 7, 9}, Extents{6, 16, 8}, Extents{25, 33, 257},
                                         Extents{12, 64, 515}, Extents{64, 12, 256}, Extents{193, 515, 40},
                                         Extents{385, 31, 300}));

// Whatever is computed beside it.
TEST(TransposedProductParts, HaveTheSameBits) {
  const AsBefore as_before;
  constexpr int64_t kM = 40, kN = 70, kK = 300;
  const TestTensor a = random_tensor({kK, kM}, 1), b = random_tensor({kK, kN}, 2);
  const Queue queue(1);
  const auto product = [&](int64_t rows, int64_t columns) {
    TestTensor c = filled_tensor({kM, kN}, 0.0F);
    transposed_product(queue, {.m = rows,
                               .n = columns,
                               .k = kK,
                               .a = a.as<float>(),
                               .a_stride = kM,
                               .b = b.as<float>(),
                               .b_stride = kN,
                               .c = c.as<float>(),
                               .c_stride = kN,
                               .transpose_a = true});
    return c;
  };
  const TestTensor whole = product(kM, kN);
  for (const Extents& part : {Extents{1, 1, 0}, Extents{7, 20, 0}, Extents{39, 69, 0}}) {
    const TestTensor found = product(part.m, part.n);
    for (int64_t i = 0; i < part.m; ++i)
      for (int64_t j = 0; j < part.n; ++j)
        EXPECT_EQ(found.as<float>()[i * kN + j], whole.as<float>()[i * kN + j]) << i << ", " << j;
  }
}

}  // namespace

}  // namespace segue::kernels::cpu

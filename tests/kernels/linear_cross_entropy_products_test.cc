// The listed products of the linear cross-entropy are all that its formula needs, and no larger than a block.
#include "kernels/linear_cross_entropy_products.h"

#include <gtest/gtest.h>

#include <vector>

namespace segue::kernels {
namespace {

double flops_of(const std::vector<ProductShape>& products) {
  double sum = 0.0;
  for (const ProductShape& product : products) sum += product.flops();
  return sum;
}

// Rows that need no padding, whole or in chunks.
TEST(LinearCrossEntropyProducts, AddUpToTheFormula) {
  for (const int64_t rows : {1, 8, 64, 1024, 4096}) {
    for (const int64_t width : {1, 511, 512, 1300}) {
      for (const int64_t classes : {1, 513, 4096, 40000}) {
        for (const int64_t gates : {0, 3}) {
          const LinearCrossEntropyExtents extents{
              .rows = rows, .width = width, .classes = classes + gates, .scratch_bytes = 4 * 64 * (classes + gates)};
          const double once = 2.0 * static_cast<double>(rows) * static_cast<double>(width * (classes + gates));
          EXPECT_EQ(flops_of(linear_cross_entropy_products(extents, gates, false)), once);
          EXPECT_EQ(flops_of(linear_cross_entropy_products(extents, gates, true)), 3.0 * once);
        }
      }
    }
  }
}

TEST(LinearCrossEntropyProducts, AreBlocksOfOneThread) {
  const LinearCrossEntropyExtents extents{.rows = 5000, .width = 1300, .classes = 5001};
  for (const ProductShape& product : linear_cross_entropy_products(extents, 1, true)) {
    EXPECT_TRUE(product.in_thread);
    EXPECT_LE(product.transpose_a ? product.m : product.n, 512);
    EXPECT_EQ(product.accumulate, product.transpose_a || product.k == 1);
  }
  EXPECT_TRUE(linear_cross_entropy_products({.rows = 0, .width = 3, .classes = 4}, 0, true).empty());
}

}  // namespace
}  // namespace segue::kernels

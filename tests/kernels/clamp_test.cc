// Numbers kept in a range, in both precisions.
#include "kernels/clamp.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/kernels/bfloat16.h"

namespace segue::kernels {

namespace {

TEST(Clamp, EqualsTheOracleAndDoesNothingMoreASecondTime) {
  for (const Shape& shape : {Shape{1}, Shape{8}, Shape{31}, Shape{32}, Shape{33}, Shape{7, 11, 13}, Shape{256, 257}}) {
    for (const bool in_bfloat16 : {false, true}) {
      Queue queue(test_device(), 2);
      TestTensor x = in_bfloat16 ? random_bfloat16(shape, 1) : random_tensor(shape, 1);
      std::vector<double> expected = values(x);
      for (double& value : expected) value = std::min(std::max(value, -0.25), 0.5);
      clamp(queue, {.x = x.view(), .lowest = -0.25F, .highest = 0.5F});
      EXPECT_EQ(values(x), expected) << shape.text();
      const TestTensor once = copy_of(x.view());
      clamp(queue, {.x = x.view(), .lowest = -0.25F, .highest = 0.5F});
      expect_identical("x", x.view(), once.view());
    }
  }
}

// A model that diverged shall not look like one that did not.
TEST(Clamp, NaNStaysAndInfinityDoesNot) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {3});
  std::copy_n(std::array{NAN, INFINITY, -INFINITY}.data(), 3, x.as<float>());
  clamp(queue, {.x = x.view()});
  EXPECT_TRUE(std::isnan(x.as<float>()[0]));
  EXPECT_EQ(x.as<float>()[1], 1.0F);
  EXPECT_EQ(x.as<float>()[2], 0.0F);
}

TEST(Clamp, RefusesARangeUpsideDown) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {3});
  expect_contract_error([&] { clamp(queue, {.x = x.view(), .lowest = 2.0F, .highest = 1.0F}); },
                        {"highest", "at least lowest = 2", "1"});
}

}  // namespace

}  // namespace segue::kernels

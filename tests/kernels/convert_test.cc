// Numbers in another precision: to the bit, both ways, overwritten and added to.
#include "kernels/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/kernels/bfloat16.h"

namespace segue::kernels {

namespace {

TEST(ConvertTest, RoundsToTheNearest) {
  Queue queue(test_device(), 2);
  for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{5, 4, 8}, Shape{70001}}) {
    for (const DType from : {DType::kFloat32, DType::kBFloat16}) {
      for (const DType to : {DType::kFloat32, DType::kBFloat16}) {
        for (const auto& [accumulate, factor] : {std::pair{false, 1.0F}, {true, 1.0F}, {true, -1.0F}, {false, 0.5F}}) {
          SCOPED_TRACE(fmt::format("{} {} to {} {} {}", shape.text(), name_of(from), name_of(to), accumulate, factor));
          const TestTensor x = cast(random_tensor(shape, 1), from);
          const TestTensor before = cast(random_tensor(shape, 2), to);
          TestTensor y = copy_of(before.view());
          convert(queue, {.x = x.view(), .y = y.view(), .accumulate = accumulate, .factor = factor});
          const std::vector<double> added_to = values(before);
          std::vector<double> expected = values(x);
          for (size_t e = 0; e < expected.size(); ++e) {
            expected[e] = factor * expected[e] + (accumulate ? added_to[e] : 0.0);
            expected[e] = static_cast<double>(static_cast<float>(expected[e]));
          }
          if (to == DType::kBFloat16) expected = rounded(expected);
          EXPECT_EQ(values(y), expected);
        }
      }
    }
  }
}

TEST(ConvertTest, PassesNaNAndInfinityOn) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {4});
  std::ranges::copy(std::array{NAN, INFINITY, -INFINITY, -0.0F}, x.as<float>());
  TestTensor y = cast(unset_tensor({4}), DType::kBFloat16);
  convert(queue, {.x = x.view(), .y = y.view()});
  const std::vector<double> found = values(y);
  EXPECT_TRUE(std::isnan(found[0]));
  EXPECT_EQ(found[1], INFINITY);
  EXPECT_EQ(found[2], -INFINITY);
  EXPECT_TRUE(found[3] == 0.0 && std::signbit(found[3]));
}

TEST(ConvertTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {2, 3}), y(DType::kBFloat16, {3, 2}), numbers(DType::kInt32, {2, 3});
  const auto refused = [&](ConstTensorView from, TensorView to, const std::vector<std::string>& words) {
    expect_contract_error([&] { convert(queue, {.x = from, .y = to}); }, words);
  };
  refused(x.view(), y.view(), {"y", "[2, 3]", "[3, 2]"});
  refused(numbers.view(), y.view(), {"x", "float32", "int32"});
  refused(x.view(), x.view(), {"y", "x", "overlap"});
}

}  // namespace

}  // namespace segue::kernels

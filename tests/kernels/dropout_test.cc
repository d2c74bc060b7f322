// Dropout against a mask drawn one element at a time.
#include "kernels/dropout.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/dropout.h"

namespace segue::kernels {

namespace {

class DropoutTest : public testing::TestWithParam<float> {
 protected:
  Dropout dropout_{GetParam(), {5, 6, 7}, 12345};
  Queue queue_{test_device(), 2};
};

TEST_P(DropoutTest, EqualsTheOracle) {
  for (const Shape& shape : {Shape{1}, Shape{31}, Shape{32}, Shape{33}, Shape{7, 11, 13}, Shape{256, 257}}) {
    const TestTensor x = random_tensor(shape, 1);
    const std::vector<double> expected =
        oracle::multiply(oracle_values(x.view()), oracle::dropout_mask(dropout_, shape.elements()));
    TestTensor y = unset_tensor(shape);
    dropout_forward(queue_, {.x = x.view(), .dropout = dropout_, .y = y.view()});
    expect_close("y", y.view(), expected, kElementwise);
    TestTensor dx = unset_tensor(shape);
    dropout_backward(queue_, {.dy = x.view(), .dropout = dropout_, .dx = dx.view()});
    expect_identical("dx", dx.view(), y.view());
  }
}

TEST_P(DropoutTest, InPlaceAndAccumulated) {
  const Shape shape{64, 601};
  const TestTensor x = random_tensor(shape, 1), before = random_tensor(shape, 2);
  const std::vector<double> product =
      oracle::multiply(oracle_values(x.view()), oracle::dropout_mask(dropout_, shape.elements()));
  TestTensor in_place = copy_of(x.view());
  dropout_forward(queue_, {.x = in_place.view(), .dropout = dropout_, .y = in_place.view()});
  expect_close("in place", in_place.view(), product, kElementwise);
  std::vector<double> sum = oracle_values(before.view());
  for (size_t e = 0; e < sum.size(); ++e) sum[e] += product[e];
  TestTensor y = copy_of(before.view()), dx = copy_of(before.view());
  dropout_forward(queue_, {.x = x.view(), .dropout = dropout_, .y = y.view(), .accumulate = true});
  expect_close("y", y.view(), sum, kElementwise);
  dropout_backward(queue_, {.dy = x.view(), .dropout = dropout_, .dx = dx.view(), .accumulate = true});
  expect_close("dx", dx.view(), sum, kElementwise);
}

TEST_P(DropoutTest, APieceDrawsItsPartOfTheWholeMask) {
  const TestTensor x = random_tensor({8, 37}, 1);
  TestTensor whole = unset_tensor({8, 37}), pieces = unset_tensor({8, 37});
  dropout_forward(queue_, {.x = x.view(), .dropout = dropout_, .y = whole.view()});
  for (int64_t row = 0; row < 8; row += 2) {
    Dropout part = dropout_;
    part.first_element += static_cast<uint64_t>(row * 37);
    dropout_forward(queue_, {.x = x.view().rows(row, 2), .dropout = part, .y = pieces.view().rows(row, 2)});
  }
  expect_identical("y", pieces.view(), whole.view());
}

INSTANTIATE_TEST_SUITE_P(Probabilities, DropoutTest, testing::Values(0.0F, 0.1F, 1.0F));

TEST(Dropout, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {4}), longer(DType::kFloat32, {5});
  expect_contract_error([&] { dropout_forward(queue, {.x = x.view(), .y = longer.view()}); }, {"y", "[4]", "[5]"});
  expect_contract_error([&] { dropout_forward(queue, {.x = x.view(), .dropout = {.p = 1.5F}, .y = x.view()}); },
                        {"dropout.p", "1.5"});
  expect_contract_error([&] { dropout_backward(queue, {.dy = x.view(), .dx = x.view(), .accumulate = true}); },
                        {"dx", "apart from dy"});
}

}  // namespace

}  // namespace segue::kernels

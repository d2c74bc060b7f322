// matmul against three loops, in every transposition, overwriting and accumulating.
#include "kernels/matmul.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/matmul.h"

namespace segue::kernels {

namespace {

void expect_product(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, bool accumulate) {
  Queue queue(test_device(), 2);
  const TestTensor a = random_tensor(transpose_a ? Shape{k, m} : Shape{m, k}, 1);
  const TestTensor b = random_tensor(transpose_b ? Shape{n, k} : Shape{k, n}, 2);
  TestTensor c = accumulate ? random_tensor({m, n}, 3) : unset_tensor({m, n});
  std::vector<double> expected =
      oracle::matmul({m, n, k}, oracle_values(a.view()), transpose_a, oracle_values(b.view()), transpose_b);
  if (accumulate) expected = oracle::sum_of(expected, oracle_values(c.view()));
  matmul(queue, {a.view(), transpose_a, b.view(), transpose_b, c.view(), accumulate});
  expect_close("c", c.view(), expected, kReduction);
}

TEST(Matmul, EqualsTheOracle) {
  for (const auto [m, n, k] :
       {std::array<int64_t, 3>{1, 1, 1}, {31, 32, 33}, {33, 31, 32}, {7, 101, 13}, {1, 97, 64}}) {
    for (const int form : {0, 1, 2, 3, 4, 5, 6, 7}) expect_product(m, n, k, form & 1, form & 2, form & 4);
  }
}

TEST(Matmul, ProductsOfATrainingStep) {
  const int64_t rows = 512;
  expect_product(rows, 768, 256, false, true, false);   // y = x Wᵀ
  expect_product(rows, 256, 768, false, false, false);  // dx = dy W
  expect_product(768, 256, rows, true, false, true);    // dW += dyᵀ x
}

TEST(Matmul, EmptyExtents) {
  expect_product(3, 4, 0, false, false, false);
  expect_product(3, 4, 0, false, false, true);
  expect_product(0, 4, 5, false, true, false);
  expect_product(3, 0, 5, true, false, false);
}

TEST(Matmul, RepeatsItselfBitForBit) {
  Queue queue(test_device(), 2);
  const TestTensor a = random_tensor({257, 300}, 1), b = random_tensor({300, 129}, 2);
  TestTensor first = unset_tensor({257, 129}), second = unset_tensor({257, 129});
  matmul(queue, {.a = a.view(), .b = b.view(), .c = first.view()});
  matmul(queue, {.a = a.view(), .b = b.view(), .c = second.view()});
  expect_identical("c", first.view(), second.view());
}

TEST(Matmul, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor a(DType::kFloat32, {2, 3}), b(DType::kFloat32, {4, 3}), c(DType::kFloat32, {2, 4});
  expect_contract_error([&] { matmul(queue, {.a = a.view(), .b = b.view(), .c = c.view()}); },
                        {"matmul", "b", "[3, 3]", "[4, 3]"});
  expect_contract_error([&] { matmul(queue, {.a = a.view(), .b = b.view(), .transpose_b = true, .c = b.view()}); },
                        {"c", "[2, 4]", "[4, 3]"});
  TestTensor square(DType::kFloat32, {3, 3});
  expect_contract_error([&] { matmul(queue, {.a = square.view(), .b = square.view(), .c = square.view()}); },
                        {"c", "apart from a"});
}

}  // namespace

}  // namespace segue::kernels

// A broken contract is named: operation, tensor, expected, found.
#include "kernels/check.h"

#include <algorithm>
#include <vector>

#include "kernels/queue.h"
#include "tests/kernels/testing.h"

namespace segue::kernels {

namespace {

const Contract kContract("some_operation");

TEST(Contract, NamesShapeAndDtype) {
  const TestTensor x = random_tensor({2, 3}, 1);
  kContract.floats("x", x.view(), {2, 3});
  expect_contract_error(
      [&] {
        kContract.floats("x", x.view(), {2, 4});
      },
      {"some_operation", "x", "float32 [2, 4]", "float32 [2, 3]"});
  expect_contract_error([&] { kContract.tensor("x", x.view(), DType::kInt32, {2, 3}); }, {"int32 [2, 3]", "float32"});
  expect_contract_error([&] { kContract.rank("x", x.view(), 3); }, {"expected 3 extents", "[2, 3]"});
  expect_contract_error([&] { kContract.floats("x", {nullptr, DType::kFloat32, {2}}, {2}); }, {"no data"});
  expect_contract_error([&] { kContract.absent("x", x.view(), "for ReLU"); }, {"expected empty for ReLU"});
}

TEST(Contract, TellsOverlapFromIdentity) {
  TestTensor x(DType::kFloat32, {4, 3});
  const ConstTensorView whole = x.view(), head = x.view().rows(0, 2), tail = x.view().rows(2, 2);
  kContract.disjoint("a", head, "b", tail);
  kContract.same_or_disjoint("a", head, "b", head);
  expect_contract_error([&] { kContract.disjoint("a", head, "b", head); }, {"a", "apart from b"});
  expect_contract_error([&] { kContract.same_or_disjoint("a", whole, "b", head); }, {"overlap"});
  expect_contract_error([&] { kContract.same_or_disjoint("a", whole, "b", tail); }, {"overlap"});
}

// Indices are looked at on the host, where they are there.
OwnedTensor host_indices(const std::vector<int32_t>& values) {
  OwnedTensor tensor(DType::kInt32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<int32_t>());
  return tensor;
}

TEST(Contract, NamesTheFirstIndexOutside) {
  kContract.indices("tokens", host_indices({0, 4, 2}).view(), 5, {});
  expect_contract_error(
      [&] {
        kContract.indices("tokens", host_indices({0, 5, -1}).view(), 5, {});
      },
      {"tokens[1]", "[0, 5)", "found 5"});
  expect_contract_error([&] { kContract.indices("tokens", host_indices({-1}).view(), 5, {}); },
                        {"tokens[0]", "found -1"});
  kContract.indices("targets", host_indices({-1, 4}).view(), 5, {}, -1);
  expect_contract_error(
      [&] {
        kContract.indices("targets", host_indices({-1, -2}).view(), 5, {}, -1);
      },
      {"targets[1]", "[-1, 5)", "found -2"});
}

TEST(Contract, ProbabilityRefusesNan) {
  kContract.probability("p", 0.0);
  kContract.probability("p", 1.0);
  for (const double p : {-0.1, 1.1, double{NAN}})
    expect_contract_error([&] { kContract.probability("p", p); }, {"p", "[0, 1]"});
}

TEST(Queue, TakesTheThreadsItIsGiven) {
  EXPECT_EQ(Queue(3).threads(), 3);
  EXPECT_GE(Queue(0).threads(), 1);
  EXPECT_THROW(Queue(-1), ContractError);
}

}  // namespace

}  // namespace segue::kernels

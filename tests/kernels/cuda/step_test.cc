// Dropout as only a GPU has it: it counts the steps itself.
#include "kernels/dropout.h"
#include "tests/kernels/testing.h"

namespace segue::kernels {

namespace {

// A replayed operation draws new numbers because its step is counted in the GPU's memory.
TEST(Dropout, CountsStepsInTheDevicesMemory) {
  Queue queue(test_device());
  const TestTensor x = random_tensor({33, 31}, 1);
  TestTensor counter(DType::kInt64, {1}), counted = unset_tensor({33, 31}), fixed = unset_tensor({33, 31});
  counter.as<int64_t>()[0] = 2;
  Dropout dropout{0.3F, {.seed = 5, .step = 6, .site = 7}};
  dropout.step = reinterpret_cast<const uint64_t*>(counter.view().data);
  dropout_forward(queue, {.x = x.view(), .dropout = dropout, .y = counted.view()});
  dropout_forward(queue, {.x = x.view(), .dropout = {0.3F, {.seed = 5, .step = 8, .site = 7}}, .y = fixed.view()});
  expect_identical("y", counted.view(), fixed.view());
}

}  // namespace

}  // namespace segue::kernels

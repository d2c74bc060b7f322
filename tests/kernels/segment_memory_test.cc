// The memory update against joining and cutting, apart and over the old memory.
#include "kernels/segment_memory.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/segment_memory.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t streams, old_rows, fresh_rows, capacity, features;
};

class SegmentMemoryTest : public testing::TestWithParam<Case> {
 protected:
  Case size_ = GetParam();
  int64_t kept_ = std::min(size_.capacity, size_.old_rows + size_.fresh_rows);
  TestTensor memory_ = random_tensor({size_.streams, size_.old_rows, size_.features}, 1);
  TestTensor hidden_ = random_tensor({size_.streams, size_.fresh_rows, size_.features}, 2);
  std::vector<double> expected_ = oracle::updated_memory(oracle_values(memory_.view()), oracle_values(hidden_.view()),
                                                         size_.streams, kept_* size_.features);
};

TEST_P(SegmentMemoryTest, KeepsTheNewestRows) {
  Queue queue(test_device(), 2);
  TestTensor updated = unset_tensor({size_.streams, kept_, size_.features});
  segment_memory_update(queue, {memory_.view(), hidden_.view(), updated.view()});
  EXPECT_EQ(oracle_values(updated.view()), expected_);
}

TEST_P(SegmentMemoryTest, OverTheOldMemory) {
  Queue queue(test_device(), 2);
  TestTensor storage = unset_tensor({size_.streams * std::max(kept_, size_.old_rows) * size_.features});
  std::copy_n(memory_.as<float>(), memory_.view().elements(), storage.as<float>());
  const TensorView updated = view_of(storage.view().as<float>(), {size_.streams, kept_, size_.features});
  segment_memory_update(queue,
                        {view_of(std::as_const(storage).view().as<float>(), memory_.shape()), hidden_.view(), updated});
  EXPECT_EQ(oracle_values(updated), expected_);
}

INSTANTIATE_TEST_SUITE_P(Sizes, SegmentMemoryTest,
                         testing::Values(Case{1, 0, 1, 1, 1}, Case{3, 0, 5, 8, 7},  // from nothing
                                         Case{4, 5, 4, 32, 3},                      // growing, still below capacity
                                         Case{4, 30, 4, 32, 3},                     // growing until full
                                         Case{4, 32, 5, 32, 33},                    // full: the steady state
                                         Case{4, 32, 50, 32, 2},                    // a segment longer than the memory
                                         Case{4, 32, 5, 11, 3},
                                         Case{4, 32, 5, 3, 3},         // shrinking, kept within the segment too
                                         Case{2, 7, 3, 0, 5},          // no memory
                                         Case{3, 13, 0, 31, 4},        // an empty segment
                                         Case{4, 32, 0, 11, 3},        // a lower capacity alone
                                         Case{8, 128, 64, 128, 64}));  // a model's size, on several threads

TEST(SegmentMemory, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor memory(DType::kFloat32, {2, 3, 4}), hidden(DType::kFloat32, {2, 2, 4}),
      updated(DType::kFloat32, {2, 6, 4});
  expect_contract_error(
      [&] {
        segment_memory_update(queue, {memory.view(), hidden.view(), updated.view()});
      },
      {"updated", "at most the rows", "6"});
  const TensorView shifted = view_of(memory.view().as<float>() + 4, {2, 2, 4});
  expect_contract_error(
      [&] {
        segment_memory_update(queue, {memory.view(), hidden.view(), shifted});
      },
      {"updated", "apart from memory"});
}

}  // namespace

}  // namespace segue::kernels

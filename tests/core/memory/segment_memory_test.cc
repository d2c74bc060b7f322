// The memory: it grows to its mem_len, keeps the newest rows, and comes back from a checkpoint.
#include "core/memory/segment_memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/testing.h"
#include "tests/message_of.h"

namespace segue {
namespace {

constexpr int64_t kLayers = 2;
constexpr int64_t kSegmentStreams = 3;
constexpr int64_t kWidth = 4;

SegmentMemory make_memory(int64_t mem_len, bool starts_full = false) {
  return SegmentMemory(
      {.layers = kLayers, .streams = kSegmentStreams, .mem_len = mem_len, .width = kWidth, .starts_full = starts_full});
}

// The value that row `time` of a layer and stream holds in these tests, in its every column.
float row_value(int64_t layer, int64_t stream, int64_t time) {
  return static_cast<float>(1 + layer * 10000 + stream * 1000 + time);
}

std::vector<OwnedTensor> rows_of_time(int64_t begin, int64_t count) {
  std::vector<OwnedTensor> layers;
  for (int64_t l = 0; l < kLayers; ++l) {
    layers.emplace_back(DType::kFloat32, Shape{kSegmentStreams, count, kWidth});
    for (int64_t e = 0; e < kSegmentStreams * count * kWidth; ++e) {
      const int64_t row = e / kWidth;
      layers.back().as<float>()[e] = row_value(l, row / count, begin + row % count);
    }
  }
  return layers;
}

std::vector<ConstTensorView> views_of(const std::vector<OwnedTensor>& tensors) {
  std::vector<ConstTensorView> views;
  for (const OwnedTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

void expect_rows(const SegmentMemory& memory, int64_t begin, int64_t count) {
  ASSERT_EQ(memory.length(), count);
  const std::vector<OwnedTensor> expected = rows_of_time(begin, count);
  for (int64_t l = 0; l < kLayers; ++l) kernels::expect_identical("layer", memory.layer(l), expected[l].view());
}

void append(SegmentMemory& memory, int64_t begin, int64_t count) {
  kernels::Queue queue(1);
  const std::vector<OwnedTensor> rows = rows_of_time(begin, count);
  memory.update(queue, views_of(rows));
}

TEST(SegmentMemory, GrowsToItsCapacityAndKeepsTheNewest) {
  SegmentMemory memory = make_memory(7);
  EXPECT_EQ(memory.length(), 0);
  EXPECT_EQ(memory.layer(0).shape, (Shape{kSegmentStreams, 0, kWidth}));
  append(memory, 0, 3);
  expect_rows(memory, 0, 3);
  append(memory, 3, 3);
  expect_rows(memory, 0, 6);
  append(memory, 6, 3);
  expect_rows(memory, 2, 7);
  append(memory, 9, 7);
  expect_rows(memory, 9, 7);
  append(memory, 16, 20);  // longer than the memory
  expect_rows(memory, 29, 7);
  append(memory, 36, 1);
  expect_rows(memory, 30, 7);
}

TEST(SegmentMemory, FirstSegmentLongerThanTheMemory) {
  SegmentMemory memory = make_memory(2);
  append(memory, 0, 5);
  expect_rows(memory, 3, 2);
}

TEST(SegmentMemory, WithoutCapacityStaysEmpty) {
  SegmentMemory memory = make_memory(0);
  append(memory, 0, 4);
  EXPECT_EQ(memory.length(), 0);
  EXPECT_EQ(memory.bytes(), 0);
  memory.reset();
  EXPECT_EQ(memory.length(), 0);
}

TEST(SegmentMemory, StartsFullOfZerosWhenAskedTo) {
  SegmentMemory memory = make_memory(3, true);
  const OwnedTensor zeros(DType::kFloat32, {kSegmentStreams, 3, kWidth});
  EXPECT_EQ(memory.length(), 3);
  kernels::expect_identical("at the start", memory.layer(1), zeros.view());
  append(memory, 0, 3);
  expect_rows(memory, 0, 3);
  memory.reset();
  EXPECT_EQ(memory.length(), 3);
  kernels::expect_identical("after a reset", memory.layer(1), zeros.view());
}

TEST(SegmentMemory, ResetForgets) {
  SegmentMemory memory = make_memory(4);
  append(memory, 0, 4);
  memory.reset();
  EXPECT_EQ(memory.length(), 0);
  append(memory, 50, 2);
  expect_rows(memory, 50, 2);
}

TEST(SegmentMemory, KeepsTheNewestRowsOfALowerLimitAndGrowsToAHigherOne) {
  kernels::Queue queue(1);
  SegmentMemory memory = make_memory(6);
  memory.set_mem_len(queue, 2);
  append(memory, 0, 3);
  EXPECT_TRUE(memory.is_full());
  expect_rows(memory, 1, 2);
  memory.set_mem_len(queue, 5);
  EXPECT_FALSE(memory.is_full());
  append(memory, 3, 4);
  expect_rows(memory, 2, 5);
  memory.set_mem_len(queue, 3);
  expect_rows(memory, 4, 3);
  append(memory, 7, 1);
  expect_rows(memory, 5, 3);
  memory.set_mem_len(queue, 0);
  append(memory, 8, 4);
  EXPECT_EQ(memory.length(), 0);
  memory.set_mem_len(queue, 6);
  append(memory, 12, 4);
  expect_rows(memory, 12, 4);
  EXPECT_EQ(message_of<ContractError>([&] { memory.set_mem_len(queue, 7); }), "a memory of 7 rows, expected 0 to 6");
}

TEST(SegmentMemory, StartsAsFullAsItsLimit) {
  kernels::Queue queue(1);
  SegmentMemory memory = make_memory(4, true);
  memory.set_mem_len(queue, 2);
  EXPECT_EQ(memory.length(), 2);
  memory.reset();
  EXPECT_EQ(memory.length(), 2);
  memory.set_mem_len(queue, 4);
  EXPECT_EQ(memory.length(), 2);
  memory.reset();
  EXPECT_EQ(memory.length(), 4);
}

TEST(SegmentMemory, RestoresWhatWasSaved) {
  for (const int64_t length : {0, 3, 5}) {
    SegmentMemory memory = make_memory(5);
    append(memory, 90, 5);
    memory.restore(views_of(rows_of_time(10, length)));
    expect_rows(memory, 10, length);
    append(memory, 10 + length, 5 - length);
    expect_rows(memory, 10, 5);
  }
}

TEST(SegmentMemory, RefusesWhatDoesNotFit) {
  SegmentMemory memory = make_memory(5);
  append(memory, 0, 5);
  const auto restoring = [&](const std::vector<OwnedTensor>& layers) {
    return message_of<CheckpointError>([&] { memory.restore(views_of(layers)); });
  };
  EXPECT_EQ(restoring(rows_of_time(0, 6)), "memory of 2 layers and 6 rows, expected 2 layers and at most 5 rows");

  std::vector<OwnedTensor> one_layer = rows_of_time(0, 2);
  one_layer.pop_back();
  EXPECT_EQ(restoring(one_layer), "memory of 1 layers and 2 rows, expected 2 layers and at most 5 rows");

  std::vector<OwnedTensor> other_width = rows_of_time(0, 2);
  other_width[1] = OwnedTensor(DType::kFloat32, {kSegmentStreams, 2, kWidth + 1});
  EXPECT_EQ(restoring(other_width), "memory of layer 1 is float32 [3, 2, 5], expected float32 [3, 2, 4]");

  std::vector<OwnedTensor> other_rank = rows_of_time(0, 2);
  other_rank[0] = OwnedTensor(DType::kFloat32, {kSegmentStreams, 2});
  EXPECT_EQ(restoring(other_rank), "memory of layer 0 is float32 [3, 2], expected three extents");

  std::vector<OwnedTensor> other_type = rows_of_time(0, 2);
  other_type[1] = OwnedTensor(DType::kInt32, {kSegmentStreams, 2, kWidth});
  EXPECT_EQ(restoring(other_type), "memory of layer 1 is int32 [3, 2, 4], expected float32 [3, 2, 4]");

  expect_rows(memory, 0, 5);  // as before
}

TEST(SegmentMemory, UpdateTakesOneTensorPerLayer) {
  SegmentMemory memory = make_memory(5);
  kernels::Queue queue(1);
  std::vector<OwnedTensor> rows = rows_of_time(0, 2);
  rows.pop_back();
  EXPECT_EQ(message_of<ContractError>([&] { memory.update(queue, views_of(rows)); }), "rows of 1 layers for 2");
}

}  // namespace
}  // namespace segue

// Once a reader runs, segments cost no allocation: every operator new of the program is counted.
#include <atomic>
#include <cstdlib>
#include <new>

#include "data_pipeline/segment_streams.h"
#include "tests/data_pipeline/testing.h"

namespace {

std::atomic<int64_t> allocations = 0;

}  // namespace

// None of these is inlined: the compiler, seeing only one half of a pair in place, would take it for a mismatch.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t /*size*/) noexcept { std::free(memory); }

namespace segue {
namespace {

TEST(SegmentStreamsAllocationTest, NothingIsAllocatedAfterTheFirstEpoch) {
  const TemporaryDirectory directory;
  const auto dataset = prepare_positions(directory, 65536, 10007);
  SegmentStreams reader(Dataset(dataset).split("train"), {.streams = 3, .local_streams = 3, .segment_length = 31});
  while (reader.position().epoch < 1) reader.next();
  const int64_t before = allocations;
  while (reader.position().epoch < 3) reader.next();
  EXPECT_EQ(allocations, before);
  EXPECT_GT(before, 0);
}

}  // namespace
}  // namespace segue

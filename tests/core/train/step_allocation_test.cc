// A training step allocates nothing after the first ones: memory is planned, not asked for.
//
// Every operator new of the process is counted, and every call of malloc's family that is linked into this program
// (--wrap). Left out is what oneDNN takes for itself inside its library.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include "core/optimizer/optimizer.h"
#include "tests/core/model/model_problem.h"
#include "tests/core/optimizer/optimizer_variants.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> own_allocations{0};
std::atomic<int64_t> onednn_allocations{0};

std::string_view library_of(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

// Whoever called the C++ library, or operator new directly.
bool is_from_onednn() {
  std::array<void*, 32> frames;
  const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < depth; ++i) {
    if (library_of(frames[i]).find("libdnnl") != std::string_view::npos) return true;
  }
  return false;
}

void count_allocation() {
  if (counting) ++(is_from_onednn() ? onednn_allocations : own_allocations);
}

void* allocate(size_t bytes, size_t alignment) {
  count_allocation();
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// None of these is inlined: the compiler, seeing only one half of a pair in place, would take it for a mismatch.
[[gnu::noinline]] void* operator new(size_t bytes) { return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment));
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes);
}  // counts itself
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {
void* __real_malloc(size_t bytes);
void* __real_calloc(size_t count, size_t bytes);
void* __wrap_malloc(size_t bytes);
void* __wrap_calloc(size_t count, size_t bytes);

void* __wrap_malloc(size_t bytes) {
  count_allocation();
  return __real_malloc(bytes);
}
void* __wrap_calloc(size_t count, size_t bytes) {
  count_allocation();
  return __real_calloc(count, bytes);
}
}

namespace segue {
namespace {

// Counts what `body` allocates in this program.
template <typename Body>
int64_t allocations_of(Body body) {
  own_allocations = 0;
  counting = true;
  body();
  counting = false;
  return own_allocations;
}

// After as many steps as the memory needs to be full, and, where it compresses, to have had each number of rows that
// wait for it.
void expect_steps_without_allocation(const ModelConfig& config, int64_t tgt_len,
                                     const OptimizerConfig& optimizer_config = {}) {
  const ModelUse use = use_of(config);
  const int64_t fills_in = (use.remembered_tokens() + tgt_len - 1) / tgt_len + use.compression_rate - 1;
  const int64_t warm_up = 1 + std::max<int64_t>(fills_in, memory_tokens(config) > 0 ? 1 : 0);
  ModelProblem problem(config, 2, tgt_len);
  Optimizer optimizer(optimizer_config, problem.parameters, problem.queue);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  const auto step = [&] {
    problem.parameters.clear_gradients(problem.queue);
    engine.run({.tokens = problem.tokens.view(), .targets = problem.targets.view(), .info = {.seed = 1, .step = 1}},
               *memory);
    optimizer.step(1e-3);
  };
  for (int64_t i = 0; i < warm_up; ++i) step();
  onednn_allocations = 0;
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 5; ++i) step();
            }),
            0);
  testing::Test::RecordProperty("onednn_allocations_per_step", std::to_string(onednn_allocations / 5));
}

class StepAllocation : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, StepAllocation, testing::ValuesIn(model_variants()), name_of_variant);

TEST_P(StepAllocation, SteadyStepsAllocateNothing) {
  ModelConfig config = GetParam().config();
  config.dropout = 0.1;
  config.dropatt = 0.1;
  expect_steps_without_allocation(config, 7);
}

class StepAllocationOptimizers : public testing::TestWithParam<OptimizerVariant> {};
INSTANTIATE_TEST_SUITE_P(All, StepAllocationOptimizers, testing::ValuesIn(optimizer_variants()), name_of_optimizer);

TEST_P(StepAllocationOptimizers, NorDoesAnyOptimizer) {
  expect_steps_without_allocation(small_model(), 7, GetParam().config);
}

// Larger than the tiles and blocks of the kernels.
TEST(StepAllocationSizes, NorDoesALargerModel) {
  ModelConfig config = small_model();
  config.d_model = 96;
  config.d_head = 72;
  config.d_inner = 260;
  config.mem_len = 200;
  config.dropout = config.dropatt = 0.1;
  expect_steps_without_allocation(config, 130);
}

// The counters count: a buffer (calloc), a vector (operator new), a text built inside the C++ library.
TEST(StepAllocationCounter, SeesEveryWayToAllocate) {
  EXPECT_EQ(allocations_of([] { const Buffer buffer(100); }), 1);
  EXPECT_EQ(allocations_of([] { std::vector<int>(100).at(99) = 1; }), 1);
  EXPECT_GE(allocations_of([] { std::to_string(1e300); }), 1);
}

}  // namespace
}  // namespace segue

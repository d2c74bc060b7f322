// Queues of CUDA with their fences and graphs, in many orders in which streams can advance.
#include "kernels/cuda/queue.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <omp.h>

#include <set>

#include "base/cuda.h"
#include "kernels/cuda/epilogue.h"
#include "kernels/queue.h"
#include "tests/cuda_standins/fixture.h"
#include "tests/message_of.h"

namespace segue {

namespace {

using cuda::Fence;
using cuda::Graph;
using cuda::Queue;
using cuda::Stopwatch;
using testing::HasSubstr;

using Values = std::vector<float>;

void copy(Queue& queue, OwnedTensor& to, const OwnedTensor& from) {
  queue.copy(to.view().data, from.view().data, from.view().bytes());
}

class CudaQueue : public OnStandIns {
 protected:
  // As cudaMemcpyAsync reaches it: without waiting for the whole GPU.
  static OwnedTensor pinned(const Values& values) { return holding(values, BufferKind::kPinned); }
  static float first_of(const OwnedTensor& pinned) { return pinned.as<float>()[0]; }

  // How often `run` ends with 7, in all orders.
  template <typename Run>
  static int sevens(const Run& run) {
    int count = 0;
    for (uint64_t seed = 0; seed < kOrders; ++seed) {
      standin::reset({.seed = seed});
      count += run() == 7.0F ? 1 : 0;
    }
    return count;
  }
};

int current_device() {
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  return device;
}

TEST_F(CudaQueue, EntersAThreadWithItsGpuAndItsThreads) {
  standin::reset({.gpus = 2});
  const int threads_before = omp_get_max_threads();
  kernels::Queue first({DeviceKind::kCuda, 0}, 3);
  const kernels::Queue second({DeviceKind::kCuda, 1}, 1);
  EXPECT_EQ(current_device(), 1);
  first.enter_thread();
  EXPECT_EQ(current_device(), 0);
  EXPECT_EQ(omp_get_max_threads(), 3);
  omp_set_num_threads(threads_before);
}

TEST_F(CudaQueue, CopiesAndClearsInOrder) {
  Queue queue(0);
  EXPECT_EQ(queue.device(), 0);
  const Values values{1, 2, 3};
  Values read(3);
  OwnedTensor memory = holding({0, 0, 0}), other = holding({0, 0, 0});
  queue.copy(memory.view().data, values.data(), 12);
  copy(queue, other, memory);
  queue.fill_zero(other.view().data, 4);
  queue.copy(read.data(), other.view().data, 12);
  queue.synchronize();
  EXPECT_EQ(read, (Values{0, 2, 3}));
}

TEST_F(CudaQueue, AnotherQueueComesBehindAFence) {
  const auto run = [](bool waits) {
    return sevens([waits] {
      Queue first(0), second(0);
      const OwnedTensor seven = pinned({7});
      OwnedTensor memory = holding({1}), read = pinned({0});
      Fence fence;
      copy(first, memory, seven);
      fence.set(first.stream());
      if (waits) fence.hold(second.stream());
      copy(second, read, memory);
      second.synchronize();
      return first_of(read);
    });
  };
  EXPECT_EQ(run(true), kOrders);
  const int by_chance = run(false);
  EXPECT_GT(by_chance, 0);
  EXPECT_LT(by_chance, kOrders);
}

TEST_F(CudaQueue, TheHostWaitsForAFence) {
  const auto run = [](bool waits) {
    return sevens([waits] {
      Queue queue(0);
      OwnedTensor source = pinned({7}), memory = holding({1}), read = pinned({0});
      Fence fence;
      copy(queue, memory, source);
      fence.set(queue.stream());
      if (waits) queue.wait_for(fence);
      source.as<float>()[0] = 8.0F;
      copy(queue, read, memory);
      queue.synchronize();
      return first_of(read);
    });
  };
  EXPECT_EQ(run(true), kOrders);
  EXPECT_EQ(run(false), 0);
}

TEST_F(CudaQueue, AFenceComesInTime) {
  Queue queue(0);
  OwnedTensor memory = holding({1});
  Fence fence;
  EXPECT_TRUE(fence.has_come());
  fence.wait();
  fence.hold(queue.stream());
  for (int i = 0; i < 3; ++i) queue.fill_zero(memory.view().data, 4);
  fence.set(queue.stream());
  EXPECT_FALSE(fence.has_come());
  while (!fence.has_come()) continue;
  fence.set(queue.stream());
  fence.wait();
  EXPECT_TRUE(fence.has_come());
}

struct GaveUp {};

TEST_F(CudaQueue, WaitsAreWatched) {
  Queue queue(0);
  OwnedTensor memory = holding({1});
  const auto be_busy = [&] {
    for (int i = 0; i < 5; ++i) queue.fill_zero(memory.view().data, 4);
  };
  int looks = 0;
  queue.watch_with([&](double) { ++looks; });
  be_busy();
  queue.synchronize();
  EXPECT_GE(looks, 4);  // each takes one step at most
  Fence fence;
  be_busy();
  fence.set(queue.stream());
  queue.wait_for(fence);
  EXPECT_TRUE(fence.has_come());
  queue.watch_with([](double) { throw GaveUp(); });
  be_busy();
  fence.set(queue.stream());
  EXPECT_THROW(queue.synchronize(), GaveUp);
  EXPECT_THROW(queue.wait_for(fence), GaveUp);
}

TEST_F(CudaQueue, EndsWhenItsWorkIsDone) {
  const OwnedTensor seven = pinned({7});
  OwnedTensor read = pinned({0});
  {
    Queue queue(0);
    copy(queue, read, seven);
  }
  EXPECT_EQ(first_of(read), 7.0F);
}

TEST_F(CudaQueue, ScratchIsLimited) {
  Queue queue(0);
  void* scratch = queue.scratch(Queue::kScratchBytes);
  queue.fill_zero(scratch, Queue::kScratchBytes);
  queue.synchronize();
  EXPECT_EQ(message_of<DeviceError>([&] { queue.scratch(Queue::kScratchBytes + 1); }),
            "queue: 33554433 bytes of scratch wanted, 33554432 are there");
}

TEST_F(CudaQueue, AStopwatchMeasuresInsideAndOutsideAGraph) {
  Queue queue(0);
  OwnedTensor memory = holding({1});
  Stopwatch watch;
  EXPECT_EQ(message_of<DeviceError>([&] { watch.seconds(); }),
            "cudaEventElapsedTime: invalid resource handle (cudaErrorInvalidResourceHandle)");
  const auto work = [&] {
    watch.start(queue.stream());
    queue.fill_zero(memory.view().data, 4);
    watch.stop(queue.stream());
  };
  work();
  queue.synchronize();
  EXPECT_GT(watch.seconds(), 0.0);
  Graph graph;
  graph.record(queue, work);
  std::set<double> measured;
  for (int i = 0; i < 8; ++i) {
    graph.launch(queue);
    queue.synchronize();
    EXPECT_GT(watch.seconds(), 0.0);
    measured.insert(watch.seconds());
  }
  EXPECT_GT(measured.size(), 1U);
}

class CudaGraph : public CudaQueue {
 protected:
  void SetUp() override {
    CudaQueue::SetUp();
    make();
  }
  void TearDown() override {
    on_.reset();
    CudaQueue::TearDown();
  }
  void make() { on_ = std::make_unique<Objects>(); }

  struct Objects {
    Queue queue{0}, beside{0};
    OwnedTensor source = pinned({7}), memory = holding({0}), other = holding({0}), read = pinned({0});
    Fence fork, join;
    Graph graph;
  };
  std::unique_ptr<Objects> on_;

  // A recording that breaks a rule throws these words, and leaves a queue that works as if nothing had happened.
  void expect_refusal(const std::string& words, const std::function<void()>& work) {
    EXPECT_THAT(message_of<DeviceError>([&] { on_->graph.record(on_->queue, work); }), HasSubstr(words));
    EXPECT_FALSE(on_->graph.is_recorded());
    const float value = on_->source.as<float>()[0] += 1.0F;
    copy(on_->queue, on_->memory, on_->source);
    kernels::Queue queue(kGpu, 1);
    OwnedTensor c(DType::kFloat32, {1, 1}, kGpu);
    kernels::cuda::relu(queue, {c.view(), 1});
    queue.synchronize();
    EXPECT_EQ(values_of(on_->memory), Values{value});
  }
};

TEST_F(CudaGraph, RepeatsItsWork) {
  on_->graph.record(on_->queue, [&] {
    copy(on_->queue, on_->memory, on_->source);
    copy(on_->queue, on_->read, on_->memory);
  });
  EXPECT_TRUE(on_->graph.is_recorded());
  on_->queue.synchronize();
  EXPECT_EQ(first_of(on_->read), 0.0F);
  for (const float value : {1.0F, 2.0F}) {
    on_->source.as<float>()[0] = value;
    on_->graph.launch(on_->queue);
    on_->queue.synchronize();
    EXPECT_EQ(first_of(on_->read), value);
  }
}

TEST_F(CudaGraph, HoldsTheWorkOfStreamsBesideItsOwn) {
  const auto run = [&] {
    make();
    on_->graph.record(on_->queue, [&] {
      copy(on_->queue, on_->memory, on_->source);
      on_->fork.set(on_->queue.stream());
      on_->fork.hold(on_->beside.stream());
      copy(on_->beside, on_->other, on_->memory);
      on_->queue.fill_zero(on_->read.view().data, 4);
      on_->join.set(on_->beside.stream());
      on_->join.hold(on_->queue.stream());
      copy(on_->queue, on_->read, on_->other);
    });
    on_->graph.launch(on_->queue);
    on_->queue.synchronize();
    const float found = first_of(on_->read);
    on_.reset();
    return found;
  };
  on_.reset();
  EXPECT_EQ(sevens(run), kOrders);
}

TEST_F(CudaGraph, RefusesWhatItCannotRepeat) {
  expect_refusal("cudaStreamSynchronize: operation not permitted when stream is capturing",
                 [&] { on_->queue.synchronize(); });
  expect_refusal("cudaMalloc: operation not permitted when stream is capturing", [&] { cuda::allocate(4, 0); });
  expect_refusal("cudaMallocHost: operation not permitted when stream is capturing", [&] { cuda::allocate_pinned(4); });
  expect_refusal("cudaDeviceSynchronize: operation not permitted when stream is capturing",
                 [&] { copy_tensor(on_->memory.view(), on_->source.view(), kGpu); });
  Values pageable(1);
  expect_refusal("cudaMemcpyAsync: operation not permitted when stream is capturing",
                 [&] { on_->queue.copy(on_->memory.view().data, pageable.data(), 4); });
  expect_refusal("cudaStreamWaitEvent: dependency created on uncaptured work", [&] {
    on_->fork.set(on_->beside.stream());
    on_->fork.hold(on_->queue.stream());
  });
}

TEST_F(CudaGraph, RefusesWorkThatNobodyWaitsFor) {
  expect_refusal("cudaStreamEndCapture: capturing stream has unjoined work", [&] {
    on_->fork.set(on_->queue.stream());
    on_->fork.hold(on_->beside.stream());
    copy(on_->beside, on_->memory, on_->source);
  });
}

// An error that the caller swallows spoils the graph all the same.
TEST_F(CudaGraph, IsNotMadeOfWhatWentWrong) {
  expect_refusal("cudaStreamEndCapture: operation failed due to a previous error during capture",
                 [&] { EXPECT_THROW(on_->queue.synchronize(), DeviceError); });
}

TEST_F(CudaGraph, AFenceInsideCannotBeWaitedForOutside) {
  on_->graph.record(on_->queue, [&] {
    copy(on_->queue, on_->memory, on_->source);
    on_->fork.set(on_->queue.stream());
  });
  EXPECT_THAT(message_of<DeviceError>([&] { on_->fork.wait(); }),
              HasSubstr("event last recorded in a capturing stream"));
}

// Memory that is gone when a graph uses it: the GPU's work fails, and nothing works from then on.
TEST_F(CudaGraph, AFaultIsToldByAllThatFollows) {
  {
    const OwnedTensor gone = holding({1});
    on_->graph.record(on_->queue, [&] { copy(on_->queue, on_->memory, gone); });
  }
  on_->graph.launch(on_->queue);
  const std::string words = "an illegal memory access was encountered (cudaErrorIllegalAddress)";
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(message_of<DeviceError>([&] { on_->queue.synchronize(); }), "cudaStreamSynchronize: " + words);
  EXPECT_EQ(message_of<DeviceError>([&] { copy(on_->queue, on_->memory, on_->source); }), "cudaMemcpyAsync: " + words);
  EXPECT_EQ(message_of<DeviceError>([&] { on_->fork.set(on_->queue.stream()); }), "cudaEventCreateWithFlags: " + words);
  on_.reset();
  standin::reset();  // what a GPU that failed does not give back ends with the process
}

}  // namespace

}  // namespace segue

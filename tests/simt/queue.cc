// The queue of the emulated GPU: everything has been done when a call returns, unless a graph is being recorded.
#include "kernels/cuda/queue.h"

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/cuda.h"
#include "base/error.h"
#include "tests/simt/queue_work.h"

namespace segue::cuda {

namespace {

using Scratch = std::vector<float>;

// As large as asked for, and holding nothing of the operation before.
Scratch unset_scratch(int64_t bytes) {
  return Scratch(static_cast<size_t>(bytes + 3) / sizeof(float), std::numeric_limits<float>::quiet_NaN());
}

}  // namespace

struct Graph::State {
  std::vector<std::function<void()>> work;
  std::vector<Scratch> scratch;  // of every operation its own
};

struct Queue::State {
  int device = 0;
  Scratch scratch;
  Graph::State* recording = nullptr;
};

Queue::Queue(int device) : state_(std::make_unique<State>()) {
  require_device(device);
  state_->device = device;
}
Queue::~Queue() = default;

int Queue::device() const { return state_->device; }
void* Queue::stream() const { return nullptr; }

void submit(Queue& queue, std::function<void()> work) {
  if (Graph::State* recording = queue.state().recording) {
    recording->work.push_back(std::move(work));
  } else {
    work();
  }
}

void Queue::copy(void* to, const void* from, int64_t bytes) {
  submit(*this, [=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}

void Queue::fill_zero(void* memory, int64_t bytes) {
  submit(*this, [=] { std::memset(memory, 0, static_cast<size_t>(bytes)); });
}

void Queue::synchronize() {
  if (state_->recording != nullptr) throw DeviceError("queue: waited for while a graph is recorded");
}

void* Queue::scratch(int64_t bytes) {
  if (state_->recording != nullptr) return state_->recording->scratch.emplace_back(unset_scratch(bytes)).data();
  state_->scratch = unset_scratch(bytes);
  return state_->scratch.data();
}

struct Fence::State {};

Fence::Fence() = default;
Fence::~Fence() = default;
Fence::Fence(Fence&& other) noexcept = default;
Fence& Fence::operator=(Fence&& other) noexcept = default;
void Fence::set(Queue& /*queue*/) {}
void Fence::wait() {}

Graph::Graph() = default;
Graph::~Graph() = default;
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;

void Graph::record(Queue& queue, const std::function<void()>& work) {
  auto state = std::make_unique<State>();
  queue.state().recording = state.get();
  try {
    work();
  } catch (...) {
    queue.state().recording = nullptr;
    throw;
  }
  queue.state().recording = nullptr;
  state_ = std::move(state);
}

void Graph::launch(Queue& queue) {
  for (const std::function<void()>& work : state_->work) submit(queue, work);
}

}  // namespace segue::cuda

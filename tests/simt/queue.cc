// The queue of the emulated GPU: everything has been done when a call returns.
#include "kernels/cuda/queue.h"

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/cuda.h"
#include "base/error.h"

namespace segue::cuda {

struct Queue::State {
  int device = 0;
  std::vector<float> scratch;
};

Queue::Queue(int device) : state_(std::make_unique<State>()) {
  require_device(device);
  state_->device = device;
}
Queue::~Queue() = default;

int Queue::device() const { return state_->device; }
void* Queue::stream() const { return nullptr; }
void Queue::copy(void* to, const void* from, int64_t bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); }
void Queue::fill_zero(void* memory, int64_t bytes) { std::memset(memory, 0, static_cast<size_t>(bytes)); }
void Queue::synchronize() {}

// As large as asked for, and holding nothing of the operation before.
void* Queue::scratch(int64_t bytes) {
  const float unset = std::numeric_limits<float>::quiet_NaN();
  state_->scratch = std::vector<float>(static_cast<size_t>(bytes + 3) / sizeof(float), unset);
  return state_->scratch.data();
}

struct Fence::State {};

Fence::Fence() = default;
Fence::~Fence() = default;
Fence::Fence(Fence&& other) noexcept = default;
Fence& Fence::operator=(Fence&& other) noexcept = default;
void Fence::set(Queue& /*queue*/) {}
void Fence::wait() {}

struct Graph::State {};

Graph::Graph() = default;
Graph::~Graph() = default;
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;
bool Graph::is_supported() { return false; }
void Graph::record(Queue& /*queue*/, const std::function<void()>& /*work*/) {
  throw ContractError("the emulated GPU records no graphs");
}
void Graph::launch(Queue& /*queue*/) { throw ContractError("the emulated GPU records no graphs"); }

}  // namespace segue::cuda

// The queue of the emulated GPU: work is done when it is waited for, or kept by the graph that is being recorded.
#include "kernels/cuda/queue.h"

#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/cuda.h"
#include "base/cuda_stream.h"
#include "base/error.h"
#include "tests/simt/queue_work.h"
#include "tests/simt/stream.h"

namespace segue::cuda {

namespace {

using Clock = std::chrono::steady_clock;
using Scratch = std::vector<float>;

// As large as asked for, and holding nothing of the operation before.
Scratch unset_scratch(int64_t bytes) {
  return Scratch(static_cast<size_t>(bytes + 3) / sizeof(float), std::numeric_limits<float>::quiet_NaN());
}

}  // namespace

struct Graph::State {
  std::shared_ptr<Recording> recording = std::make_shared<Recording>();  // also of its launches
};

struct Queue::State {
  int device = 0;
  std::shared_ptr<Scratch> scratch;  // of the newest operation
  OwnedStream stream;
};

Queue::Queue(int device) : state_(std::make_unique<State>()) {
  state_->device = device;
  state_->stream = OwnedStream(device);
}
Queue::~Queue() = default;

int Queue::device() const { return state_->device; }
void* Queue::stream() const { return state_->stream.get(); }

void submit(Queue& queue, std::function<void()> work) { submit(emulated(queue.stream()), std::move(work)); }

void Queue::copy(void* to, const void* from, int64_t bytes) {
  submit(*this, [=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}

void Queue::fill_zero(void* memory, int64_t bytes) {
  submit(*this, [=] { std::memset(memory, 0, static_cast<size_t>(bytes)); });
}

void* Queue::scratch(int64_t bytes) {
  if (Recording* recording = emulated(stream()).recording)
    return recording->scratch.emplace_back(unset_scratch(bytes)).data();
  submit(*this, [before = state_->scratch] {});  // whose operation still needs it until then
  state_->scratch = std::make_shared<Scratch>(unset_scratch(bytes));
  return state_->scratch->data();
}

struct Fence::State {
  EmulatedStream* stream = nullptr;
  std::shared_ptr<QueuedWork> queued;
  uint64_t place = 0;  // in it
};

void Fence::set(void* stream) {
  if (!state_) state_ = Hidden(std::make_unique<State>());
  state_->stream = &emulated(stream);
  state_->queued = state_->stream->queued;
  state_->place = state_->queued->end();
}

bool Fence::has_come() const { return !state_ || state_->queued->run_until(state_->place); }

void Fence::wait() const {
  if (!has_come()) throw DeviceError("fence: waited for without end");
}

// As with CUDA: a stream that waits for a recorded one is recorded from there on.
void Fence::hold(void* stream) {
  if (!state_) return;
  EmulatedStream& holding = emulated(stream);
  if (state_->stream->recording == nullptr) {
    if (holding.recording != nullptr) throw DeviceError("fence: set outside the graph that is recorded");
    return submit(holding, [queued = state_->queued, place = state_->place, by = holding.queued.get()] {
      if (!queued->run_until(place)) by->is_stalled = true;
    });
  }
  state_->stream->is_waited_for = true;
  if (holding.recording != nullptr) return;
  holding.recording = state_->stream->recording;
  holding.recording->streams.push_back(&holding);
}

struct Stopwatch::State {
  struct Times {
    Clock::time_point started;
    Clock::time_point stopped;
  };
  std::shared_ptr<Times> times = std::make_shared<Times>();
};

Stopwatch::Stopwatch() : state_(std::make_unique<State>()) {}
void Stopwatch::start(void* stream) {
  submit(emulated(stream), [times = state_->times] { times->started = Clock::now(); });
}
void Stopwatch::stop(void* stream) {
  submit(emulated(stream), [times = state_->times] { times->stopped = Clock::now(); });
}
double Stopwatch::seconds() const {
  return std::chrono::duration<double>(state_->times->stopped - state_->times->started).count();
}

namespace {

// Ends a recording whatever happened; false when work of another stream was not waited for.
bool end_recording(EmulatedStream& stream) {
  Recording& recording = *std::exchange(stream.recording, nullptr);
  bool complete = true;
  for (EmulatedStream* other : recording.streams) {
    complete = complete && other->is_waited_for;
    other->recording = nullptr;
    other->is_waited_for = true;
  }
  return complete;
}

}  // namespace

void Graph::record(Queue& queue, const std::function<void()>& work) {
  auto state = std::make_unique<State>();
  EmulatedStream& stream = emulated(queue.stream());
  stream.recording = state->recording.get();
  try {
    work();
  } catch (...) {
    end_recording(stream);
    throw;
  }
  if (!end_recording(stream)) throw DeviceError("graph: work of another stream was recorded and not waited for");
  state_ = Hidden(std::move(state));
}

void Graph::launch(Queue& queue) {
  for (const std::function<void()>& work : state_->recording->work)
    submit(queue, [work, kept = state_->recording] { work(); });
}

}  // namespace segue::cuda

// One ordered queue of work on one GPU.
//
// Three files define it and a program links one of them: kernels/cuda/queue.cc (CUDA), kernels/cuda/no_cuda.cc
// (refuses) and tests/simt/queue.cc (the emulated GPU, which does the work when it is waited for). How the host waits
// is the same for all: kernels/cuda/queue_waits.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/hidden.h"
#include "base/patience.h"

namespace segue::cuda {

class Fence;

class Queue {
 public:
  explicit Queue(int device);  // throws DeviceError when the GPU cannot be used
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  int device() const;
  void* stream() const;  // cudaStream_t

  void copy(void* to, const void* from, int64_t bytes);  // either may be the host's
  void fill_zero(void* memory, int64_t bytes);

  void synchronize() const;                 // throws DeviceError when work of the queue has failed
  void wait_for(const Fence& fence) const;  // until its stream has reached it
  // While these two wait, `watch` is called again and again; what it throws ends the wait. Work that waits for other
  // ranks would otherwise be waited for as long as they do not come.
  void watch_with(Watch watch) { watch_ = std::move(watch); }

  // Memory of the GPU for the operation being queued; the next operation of the queue may overwrite it. Aligned to 16
  // bytes. Throws DeviceError above kScratchBytes.
  static constexpr int64_t kScratchBytes = int64_t{32} << 20;
  void* scratch(int64_t bytes);

  // The state of one of the three implementations; only its own files know what is inside.
  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
  Watch watch_;
};

// A point in a CUDA stream that the host or another one can wait for.
class Fence {
 public:
  void set(void* stream);   // cudaStream_t: behind everything queued there so far
  bool has_come() const;    // the stream has reached it; also when never set
  void wait() const;        // until it has, without the watch of a queue
  void hold(void* stream);  // what is queued there next waits for it: a graph being recorded grows to that stream

 private:
  struct State;
  Hidden<State> state_;
};

// The time between two points of a CUDA stream, measured by the GPU, also inside a graph.
class Stopwatch {
 public:
  Stopwatch();

  void start(void* stream);
  void stop(void* stream);
  double seconds() const;  // of the last time; waits for nothing: both points must have been passed

 private:
  struct State;
  Hidden<State> state_;
};

// Work recorded once and queued again as one piece: the addresses and numbers in it stay those of the recording.
class Graph {
 public:
  // Records what `work` queues instead of running it. It must not allocate on the GPU or wait for it; other streams
  // that fences bring into it must have been waited for by the queue in the end.
  void record(Queue& queue, const std::function<void()>& work);
  bool is_recorded() const { return static_cast<bool>(state_); }
  void launch(Queue& queue);

 private:
  struct State;
  Hidden<State> state_;
};

}  // namespace segue::cuda

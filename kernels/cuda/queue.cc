// A CUDA stream with its cuBLASLt handle, and CUDA graphs.
#include "kernels/cuda/queue.h"

#include "base/cuda.h"
#include "kernels/cuda/queue_state.h"

namespace segue::cuda {

namespace {

// Inside a graph an event is recorded anew by every launch only when it is declared external.
void record_time(cudaEvent_t event, cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  const unsigned flags = status == cudaStreamCaptureStatusNone ? cudaEventRecordDefault : cudaEventRecordExternal;
  check(cudaEventRecordWithFlags(event, stream, flags), "cudaEventRecordWithFlags");
}

}  // namespace

Queue::Queue(int device) {
  auto state = std::make_unique<State>();
  state->stream = OwnedStream(device);
  state->scratch = Buffer(kScratchBytes, {DeviceKind::kCuda, device});
  state->gemm_workspace = Buffer(kGemmWorkspaceBytes, {DeviceKind::kCuda, device});
  check(cublasLtCreate(&state->cublas), "cublasLtCreate");
  state->device = device;
  state_ = std::move(state);
}

Queue::~Queue() {
  if (!state_) return;
  cudaStreamSynchronize(stream_of(*this));
  state_->gemm_plans.clear();
  cublasLtDestroy(state_->cublas);
}

int Queue::device() const { return state_->device; }
void* Queue::stream() const { return state_->stream.get(); }

void Queue::copy(void* to, const void* from, int64_t bytes) {
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream_of(*this)), "cudaMemcpyAsync");
}

void Queue::fill_zero(void* memory, int64_t bytes) {
  check(cudaMemsetAsync(memory, 0, static_cast<size_t>(bytes), stream_of(*this)), "cudaMemsetAsync");
}

void* Queue::scratch(int64_t bytes) {
  if (bytes > kScratchBytes) throw DeviceError("queue: {} bytes of scratch wanted, {} are there", bytes, kScratchBytes);
  return state_->scratch.data();
}

struct Fence::State {
  cudaEvent_t event = nullptr;
  State() { check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { cudaEventDestroy(event); }
};

void Fence::set(void* stream) {
  if (!state_) state_ = Hidden(std::make_unique<State>());
  check(cudaEventRecord(state_->event, static_cast<cudaStream_t>(stream)), "cudaEventRecord");
}

bool Fence::has_come() const {
  if (!state_) return true;
  const cudaError_t status = cudaEventQuery(state_->event);
  if (status == cudaErrorNotReady) return false;
  check(status, "cudaEventQuery");
  return true;
}

void Fence::wait() const {
  if (state_) check(cudaEventSynchronize(state_->event), "cudaEventSynchronize");
}

void Fence::hold(void* stream) {
  if (state_) check(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), state_->event), "cudaStreamWaitEvent");
}

struct Stopwatch::State {
  cudaEvent_t started = nullptr;
  cudaEvent_t stopped = nullptr;
  State() {
    check(cudaEventCreate(&started), "cudaEventCreate");
    check(cudaEventCreate(&stopped), "cudaEventCreate");
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    cudaEventDestroy(started);
    cudaEventDestroy(stopped);
  }
};

Stopwatch::Stopwatch() : state_(std::make_unique<State>()) {}

void Stopwatch::start(void* stream) { record_time(state_->started, static_cast<cudaStream_t>(stream)); }
void Stopwatch::stop(void* stream) { record_time(state_->stopped, static_cast<cudaStream_t>(stream)); }

double Stopwatch::seconds() const {
  float milliseconds = 0.0F;
  check(cudaEventElapsedTime(&milliseconds, state_->started, state_->stopped), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

struct Graph::State {
  cudaGraphExec_t executable = nullptr;
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (executable != nullptr) cudaGraphExecDestroy(executable);
  }
};

void Graph::record(Queue& queue, const std::function<void()>& work) {
  struct Recording {
    cudaGraph_t graph = nullptr;
    ~Recording() {
      if (graph != nullptr) cudaGraphDestroy(graph);
    }
  } recording;
  cudaStream_t stream = stream_of(queue);
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(stream, &recording.graph);
    cudaGetLastError();  // the error is being thrown: the next launch must not report it again
    throw;
  }
  check(cudaStreamEndCapture(stream, &recording.graph), "cudaStreamEndCapture");
  auto state = std::make_unique<State>();
  check(cudaGraphInstantiate(&state->executable, recording.graph, 0), "cudaGraphInstantiate");
  state_ = Hidden(std::move(state));
}

void Graph::launch(Queue& queue) { check(cudaGraphLaunch(state_->executable, stream_of(queue)), "cudaGraphLaunch"); }

}  // namespace segue::cuda

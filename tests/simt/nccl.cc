// NCCL between emulated GPUs: MPI moves the bytes. As with NCCL, a call is not queued before progress() has been asked
// a few times, and calling again before that is an error.
#include "tests/simt/nccl.h"

#include <mpi.h>

#include <cstring>
#include <functional>
#include <utility>

#include "base/error.h"
#include "distributed/nccl.h"
#include "tests/simt/stream.h"

namespace segue::nccl {

namespace {

constexpr int kLooks = 3;  // at a call in progress

Fault& next_fault() {
  static Fault fault = Fault::kNone;
  return fault;
}

MPI_Datatype type_of(DType dtype) {
  if (dtype == DType::kFloat32) return MPI_FLOAT;
  if (dtype == DType::kFloat64) return MPI_DOUBLE;
  if (dtype == DType::kInt64) return MPI_INT64_T;
  throw ContractError("ranks sum float32, float64 and int64, not {}", name_of(dtype));
}

int count_of(int64_t elements) { return static_cast<int>(elements); }

}  // namespace

void inject(Fault fault) { next_fault() = fault; }

Library find_library() { return {.version = kSharesGpus, .complaint = ""}; }
std::string make_id() { return "an emulated id"; }

struct Handle::State {
  bool is_alone = false;
  MPI_Comm comm = MPI_COMM_NULL;
  std::function<void()> pending;
  int looks_left = 0;
  int looks_before_error = -1;  // negative: none comes
  bool is_finishing = false;
  bool hangs = false;
  std::string error;

  void begin(std::function<void()> work) {
    if (pending && error.empty()) error = "called again before the call before was done";
    hangs = next_fault() == Fault::kHangingCall;
    if (hangs) inject(Fault::kNone);
    pending = std::move(work);
    looks_left = kLooks;
  }

  // Does the GPU's work: now, or whenever the graph is launched that records it.
  void run(cuda::EmulatedStream& stream, const std::function<void()>& collective) {
    const Fault fault = std::exchange(next_fault(), Fault::kNone);
    if (fault == Fault::kNone && error.empty()) return collective();
    stream.queued->is_stalled = true;
    if (fault == Fault::kLateError) looks_before_error = kLooks;
  }
};

Handle::Handle(const std::string& id, int ranks, int /*rank*/) : state_(std::make_shared<State>()) {
  if (id != make_id()) throw ContractError("NCCL: an id of {} bytes", id.size());
  state_->is_alone = ranks == 1;
  state_->begin([state = state_.get()] {
    if (!state->is_alone) MPI_Comm_dup(MPI_COMM_WORLD, &state->comm);
  });
}

Handle::~Handle() {
  if (!state_->is_finishing) abort();
  if (state_->comm != MPI_COMM_NULL) MPI_Comm_free(&state_->comm);
}

Progress Handle::progress() {
  if (state_->looks_before_error >= 0 && state_->looks_before_error-- == 0)
    state_->error = "injected: the peer is gone";
  if (!state_->error.empty()) return Progress::kFailed;
  if (!state_->pending) return Progress::kDone;
  if (state_->hangs || state_->looks_left-- > 0) return Progress::kGoingOn;
  std::exchange(state_->pending, nullptr)();
  return Progress::kDone;
}

std::string Handle::error() const { return state_->error; }

namespace {

// Begins a collective that `collective` does when the stream comes to it.
template <typename State, typename Collective>
void queue(const std::shared_ptr<State>& state, void* stream, const Collective& collective) {
  if (next_fault() == Fault::kRefusedCall) {
    inject(Fault::kNone);
    state->error = "injected: refused";
    return;
  }
  cuda::EmulatedStream& on = cuda::emulated(stream);
  // Done as soon as NCCL has it queued: the other ranks may wait for this one before it waits for its stream.
  state->begin([=, &on] {
    cuda::submit(on, [=, &on] { state->run(on, collective); });
    on.queued->run_until(on.queued->end());
  });
}

}  // namespace

void Handle::all_reduce(TensorView values, void* stream) {
  const MPI_Datatype type = type_of(values.dtype);
  queue(state_, stream, [values, type, state = state_.get()] {
    if (!state->is_alone)
      MPI_Allreduce(MPI_IN_PLACE, values.data, count_of(values.elements()), type, MPI_SUM, state->comm);
  });
}

void Handle::reduce_scatter(ConstTensorView values, TensorView my_part, void* stream) {
  const MPI_Datatype type = type_of(values.dtype);
  queue(state_, stream, [values, my_part, type, state = state_.get()] {
    if (state->is_alone) {
      std::memmove(my_part.data, values.data, static_cast<size_t>(values.bytes()));
    } else {
      MPI_Reduce_scatter_block(values.data, my_part.data, count_of(my_part.elements()), type, MPI_SUM, state->comm);
    }
  });
}

void Handle::all_gather(ConstTensorView my_part, TensorView values, void* stream) {
  queue(state_, stream, [my_part, values, state = state_.get()] {
    const int bytes = count_of(my_part.bytes());
    if (state->is_alone) {
      std::memmove(values.data, my_part.data, static_cast<size_t>(bytes));
      return;
    }
    int rank = 0;
    MPI_Comm_rank(state->comm, &rank);
    std::memmove(values.data + rank * my_part.bytes(), my_part.data, static_cast<size_t>(bytes));
    MPI_Allgather(MPI_IN_PLACE, bytes, MPI_BYTE, values.data, bytes, MPI_BYTE, state->comm);
  });
}

void Handle::finish() {
  state_->is_finishing = true;
  state_->begin([] {});
}

void Handle::abort() noexcept {
  state_->pending = nullptr;
  if (state_->error.empty()) state_->error = "NCCL was aborted";
}

}  // namespace segue::nccl

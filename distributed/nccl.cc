#include "distributed/nccl.h"

#include <nccl.h>

#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/shared_library.h"

namespace segue::nccl {

namespace {

template <auto* kFunction>
auto* library_function(const char* name) {
  static const SharedLibrary library("NCCL", "libnccl.so.2");
  static auto* const kFound = library.function<kFunction>(name);
  return kFound;
}

// The dtype of a sum, once check_summable has passed it.
ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return ncclFloat32;
    case DType::kFloat64:
      return ncclFloat64;
    case DType::kInt64:
      return ncclInt64;
    default:
      throw ContractError("NCCL is not asked for sums of {}", name_of(dtype));
  }
}

std::string words_of(ncclResult_t result, ncclComm_t comm) {
  const std::string what = library_function<&ncclGetErrorString>("ncclGetErrorString")(result);
  const char* more = library_function<&ncclGetLastError>("ncclGetLastError")(comm);
  return more == nullptr || *more == '\0' ? what : what + ": " + more;
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace

Library find_library() try {
  Library found;
  const ncclResult_t result = library_function<&ncclGetVersion>("ncclGetVersion")(&found.version);
  return result == ncclSuccess ? found : Library{.version = 0, .complaint = words_of(result, nullptr)};
} catch (const DeviceError& error) {
  return {.version = 0, .complaint = error.what()};
}

std::string make_id() {
  ncclUniqueId id;
  const ncclResult_t result = library_function<&ncclGetUniqueId>("ncclGetUniqueId")(&id);
  if (result != ncclSuccess) throw PeerError("ncclGetUniqueId: {}", words_of(result, nullptr));
  return {id.internal, sizeof(id.internal)};
}

struct Handle::State {
  ncclComm_t comm = nullptr;
  bool is_finishing = false;
  std::string error;
  std::jthread aborting;

  // Takes in the result of a call on the communicator.
  void take(ncclResult_t result, const char* call) {
    if (result != ncclSuccess && result != ncclInProgress && error.empty())
      error = std::string(call) + ": " + words_of(result, comm);
  }
};

Handle::Handle(const std::string& id, int ranks, int rank) : state_(std::make_shared<State>()) {
  ncclUniqueId unique;
  if (id.size() != sizeof(unique.internal))
    throw ContractError("NCCL: an id has {} bytes, found {}", sizeof(unique.internal), id.size());
  std::memcpy(unique.internal, id.data(), id.size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  state_->take(
      library_function<&ncclCommInitRankConfig>("ncclCommInitRankConfig")(&state_->comm, ranks, unique, rank, &config),
      "ncclCommInitRankConfig");
}

Handle::~Handle() {
  if (state_->is_finishing && progress() == Progress::kDone) {
    library_function<&ncclCommDestroy>("ncclCommDestroy")(state_->comm);
  } else {
    abort();
  }
}

Progress Handle::progress() {
  if (!state_->error.empty()) return Progress::kFailed;
  ncclResult_t result = ncclSuccess;
  state_->take(library_function<&ncclCommGetAsyncError>("ncclCommGetAsyncError")(state_->comm, &result),
               "ncclCommGetAsyncError");
  state_->take(result, "NCCL");
  if (!state_->error.empty()) return Progress::kFailed;
  return result == ncclInProgress ? Progress::kGoingOn : Progress::kDone;
}

std::string Handle::error() const { return state_->error; }

void Handle::all_reduce(TensorView values, void* stream) {
  state_->take(library_function<&ncclAllReduce>("ncclAllReduce")(
                   values.data, values.data, static_cast<size_t>(values.elements()), type_of(values.dtype), ncclSum,
                   state_->comm, stream_of(stream)),
               "ncclAllReduce");
}

void Handle::reduce_scatter(ConstTensorView values, TensorView my_part, void* stream) {
  state_->take(library_function<&ncclReduceScatter>("ncclReduceScatter")(
                   values.data, my_part.data, static_cast<size_t>(my_part.elements()), type_of(values.dtype), ncclSum,
                   state_->comm, stream_of(stream)),
               "ncclReduceScatter");
}

void Handle::all_gather(ConstTensorView my_part, TensorView values, void* stream) {
  state_->take(
      library_function<&ncclAllGather>("ncclAllGather")(my_part.data, values.data, static_cast<size_t>(my_part.bytes()),
                                                        ncclUint8, state_->comm, stream_of(stream)),
      "ncclAllGather");
}

void Handle::finish() {
  state_->is_finishing = true;
  state_->take(library_function<&ncclCommFinalize>("ncclCommFinalize")(state_->comm), "ncclCommFinalize");
}

// NCCL stops its kernels at once, then waits for the graphs that hold some; they are destroyed when the error that is
// the reason for all this has come to their owner. So the waiting is a thread's, which the destructor joins.
void Handle::abort() noexcept {
  if (ncclComm_t comm = std::exchange(state_->comm, nullptr)) {
    state_->aborting = std::jthread([abort = library_function<&ncclCommAbort>("ncclCommAbort"), comm] { abort(comm); });
  }
  if (state_->error.empty()) state_->error = "NCCL was aborted";
}

}  // namespace segue::nccl

// The functions of NCCL that Segue calls, between processes with a GPU each that stands in: MPI moves the bytes. As a
// communicator that does not block demands, a call is not queued before its state has been asked for a few times, and
// calling again before that is an error.
#include <mpi.h>
#include <nccl.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_standins/collective_fault.h"
#include "tests/cuda_standins/gpu.h"
#include "tests/cuda_standins/memory.h"

namespace segue::standin {

// The connection of a communicator's collectives: those in graphs outlive it.
struct Connection {
  MPI_Comm mpi = MPI_COMM_NULL;  // null: one rank alone
  std::atomic<bool> is_aborted = false;
};

}  // namespace segue::standin

struct ncclComm {
  std::shared_ptr<segue::standin::Connection> connection = std::make_shared<segue::standin::Connection>();
  int ranks = 0;
  int rank = 0;
  std::function<void()> pending;
  int looks_left = 0;
  int looks_before_error = -1;  // negative: none comes
  bool is_finalised = false;
  ncclResult_t failure = ncclSuccess;
  std::string complaint;
};

namespace segue::standin {

namespace {

constexpr int kLooks = 3;  // at a call in progress
constexpr const char* kId = "an id of NCCL's stand-in";

// Those that can be used. Aborting is a thread's of its own.
class Live {
 public:
  bool has(ncclComm_t comm) {
    const std::lock_guard lock(mutex_);
    return all_.contains(comm);
  }
  void add(ncclComm_t comm) {
    const std::lock_guard lock(mutex_);
    all_.insert(comm);
  }
  bool remove(ncclComm_t comm) {
    const std::lock_guard lock(mutex_);
    return all_.erase(comm) > 0;
  }

 private:
  std::mutex mutex_;
  std::set<ncclComm_t> all_;
};
Live& live() {
  static Live communicators;
  return communicators;
}

ncclResult_t fail(ncclComm_t comm, ncclResult_t failure, const char* complaint) {
  comm->failure = failure;
  comm->complaint = complaint;
  return failure;
}

ncclResult_t begin(ncclComm_t comm, std::function<void()> work) {
  if (!live().has(comm)) return ncclInvalidArgument;
  if (comm->failure != ncclSuccess) return comm->failure;
  if (comm->pending) return fail(comm, ncclInvalidUsage, "called again before the call before was done");
  if (comm->is_finalised) return fail(comm, ncclInvalidUsage, "called after the communicator was finalised");
  const bool hangs = take_collective_fault(nccl::Fault::kHangingCall) != nccl::Fault::kNone;
  comm->pending = std::move(work);
  comm->looks_left = hangs ? -1 : kLooks;
  return ncclInProgress;
}

// Bytes of the GPU: what a rank sends, and what it receives.
struct Transfer {
  const void* from;
  size_t from_bytes;
  void* to;
  size_t to_bytes;
};

using Start = std::function<void(const void* from, void* to, MPI_Comm comm, MPI_Request* request)>;

// Runs while the processes meet; what lies on the GPU is copied aside meanwhile, as MPI works whenever it is called.
class Collective {
 public:
  Collective(std::shared_ptr<Connection> connection, const Transfer& transfer, Start start)
      : connection_(std::move(connection)), transfer_(transfer), start_(std::move(start)) {}

  cudaError_t advance() {
    if (connection_->is_aborted) return cudaSuccess;
    if (!gpu_reaches(transfer_.from, transfer_.from_bytes) || !gpu_reaches(transfer_.to, transfer_.to_bytes))
      return cudaErrorIllegalAddress;
    if (!has_started_) start();
    int is_done = 1;
    if (connection_->mpi != MPI_COMM_NULL) MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE);
    if (is_done == 0) return cudaErrorNotReady;
    std::memcpy(transfer_.to, received_.data(), transfer_.to_bytes);
    has_started_ = false;
    return cudaSuccess;
  }

 private:
  void start() {
    const auto* bytes = static_cast<const std::byte*>(transfer_.from);
    sent_.assign(bytes, bytes + transfer_.from_bytes);
    received_.resize(transfer_.to_bytes);
    if (connection_->mpi == MPI_COMM_NULL) {
      received_ = sent_;
    } else {
      start_(sent_.data(), received_.data(), connection_->mpi, &request_);
    }
    has_started_ = true;
  }

  std::shared_ptr<Connection> connection_;
  Transfer transfer_;
  Start start_;
  bool has_started_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<std::byte> sent_, received_;
};

ncclResult_t begin(ncclComm_t comm, cudaStream_t stream, const Transfer& transfer, Start start) {
  if (!live().has(comm)) return ncclInvalidArgument;
  if (take_collective_fault(nccl::Fault::kRefusedCall) != nccl::Fault::kNone)
    return fail(comm, ncclInvalidUsage, "injected: refused");
  const auto collective = std::make_shared<Collective>(comm->connection, transfer, std::move(start));
  return begin(comm, [=] {
    const nccl::Fault fault = take_collective_fault(nccl::Fault::kHang, nccl::Fault::kLateError);
    if (fault == nccl::Fault::kLateError) comm->looks_before_error = kLooks;
    const bool hangs = fault != nccl::Fault::kNone;
    const cudaError_t status = launch_kernel(stream, [hangs, collective, connection = comm->connection] {
      if (hangs) return connection->is_aborted ? cudaSuccess : cudaErrorNotReady;
      return collective->advance();
    });
    if (status != cudaSuccess) fail(comm, ncclUnhandledCudaError, cudaGetErrorName(status));
  });
}

struct Summable {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  size_t bytes = 0;
};
Summable summable(ncclDataType_t type, ncclRedOp_t operation) {
  if (operation != ncclSum) return {};
  if (type == ncclFloat32) return {MPI_FLOAT, sizeof(float)};
  if (type == ncclFloat64) return {MPI_DOUBLE, sizeof(double)};
  if (type == ncclInt64) return {MPI_INT64_T, sizeof(int64_t)};
  return {};
}

// NCCL's own word for a part that lies where it belongs: anything else that overlaps is an error.
bool overlap_badly(const void* part, size_t part_bytes, const void* whole, size_t whole_bytes, int rank) {
  const auto* p = static_cast<const std::byte*>(part);
  const auto* w = static_cast<const std::byte*>(whole);
  const bool is_in_place = p == w + static_cast<size_t>(rank) * part_bytes;
  return !is_in_place && p < w + whole_bytes && w < p + part_bytes;
}

}  // namespace

}  // namespace segue::standin

using namespace segue::standin;  // NOLINT(google-build-using-namespace): these are C's functions

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclInProgress:
      return "operation in progress";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t comm) { return live().has(comm) ? comm->complaint.c_str() : ""; }

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 0, sizeof(*id));
  std::strcpy(id->internal, kId);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (std::strcmp(id.internal, kId) != 0 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  if (config->size != sizeof(ncclConfig_t) || config->magic != 0xcafebeef) return ncclInvalidArgument;
  if (config->version != NCCL_VERSION_CODE || config->blocking != 0) return ncclInvalidArgument;
  auto made = std::make_unique<ncclComm>();
  made->ranks = ranks;
  made->rank = rank;
  *comm = made.release();
  live().add(*comm);
  return begin(*comm, [opened = *comm] {
    if (opened->ranks > 1) MPI_Comm_dup(MPI_COMM_WORLD, &opened->connection->mpi);
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  if (!live().has(comm)) return ncclInvalidArgument;
  if (comm->looks_before_error >= 0 && comm->looks_before_error-- == 0)
    fail(comm, ncclRemoteError, "injected: the peer is gone");
  if (comm->failure == ncclSuccess && comm->pending && comm->looks_left-- == 0) std::exchange(comm->pending, nullptr)();
  *result = comm->failure != ncclSuccess ? comm->failure : comm->pending ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, cudaStream_t stream) {
  const Summable of = summable(type, operation);
  if (of.bytes == 0) return ncclInvalidArgument;
  return begin(comm, stream, {from, count * of.bytes, to, count * of.bytes},
               [=](const void* sent, void* received, MPI_Comm mpi, MPI_Request* request) {
                 MPI_Iallreduce(sent, received, static_cast<int>(count), of.type, MPI_SUM, mpi, request);
               });
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                               ncclComm_t comm, cudaStream_t stream) {
  const Summable of = summable(type, operation);
  if (of.bytes == 0 || !live().has(comm)) return ncclInvalidArgument;
  const size_t part_bytes = count * of.bytes;
  const size_t bytes = part_bytes * static_cast<size_t>(comm->ranks);
  if (overlap_badly(to, part_bytes, from, bytes, comm->rank)) return ncclInvalidArgument;
  return begin(comm, stream, {from, bytes, to, part_bytes},
               [=](const void* sent, void* received, MPI_Comm mpi, MPI_Request* request) {
                 MPI_Ireduce_scatter_block(sent, received, static_cast<int>(count), of.type, MPI_SUM, mpi, request);
               });
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  if (type != ncclUint8 || !live().has(comm)) return ncclInvalidArgument;
  const size_t bytes = count * static_cast<size_t>(comm->ranks);
  if (overlap_badly(from, count, to, bytes, comm->rank)) return ncclInvalidArgument;
  return begin(comm, stream, {from, count, to, bytes},
               [=](const void* sent, void* received, MPI_Comm mpi, MPI_Request* request) {
                 const int each = static_cast<int>(count);
                 MPI_Iallgather(sent, each, MPI_BYTE, received, each, MPI_BYTE, mpi, request);
               });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return begin(comm, [comm] { comm->is_finalised = true; });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!live().has(comm)) return ncclInvalidArgument;
  if (!comm->is_finalised) return ncclInvalidUsage;
  live().remove(comm);
  const std::unique_ptr<ncclComm> owner(comm);
  if (comm->connection->mpi != MPI_COMM_NULL) MPI_Comm_free(&comm->connection->mpi);
  return ncclSuccess;
}

// MPI's communicator stays: the others may not have come so far.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!live().remove(comm)) return ncclInvalidArgument;
  const std::unique_ptr<ncclComm> owner(comm);
  comm->connection->is_aborted = true;
  return ncclSuccess;
}

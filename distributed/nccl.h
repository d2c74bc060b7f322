// The part of NCCL that Segue uses, as its own interface: a communicator between GPUs whose calls never block.
//
// Three files define it and a program links one of them: distributed/nccl.cc (NCCL, loaded when it is first needed),
// distributed/no_nccl.cc (a build without it) and tests/simt/nccl.cc (between emulated GPUs, over MPI).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/tensor.h"

namespace segue::nccl {

// Version 2.30.3 is 23003; 0 where there is none, and why.
struct Library {
  int version = 0;
  std::string complaint;
};
Library find_library();

constexpr int kSharesGpus = 23000;  // the first version that lets ranks share a GPU, where NCCL_MULTI_RANK_GPU_ENABLE=1

// How the ranks of a job find one another: made by one of them, given to all. Throws PeerError.
std::string make_id();

enum class Progress : uint8_t { kDone, kGoingOn, kFailed };

// An ncclComm_t on the calling thread's GPU. A call only begins something; before the next one, and before anything
// else is queued behind it, progress() must have left kGoingOn. What goes wrong, now or behind the scenes, is kFailed
// and stays so; the only thing thrown is ContractError, for sums of another dtype.
class Handle {
 public:
  Handle(const std::string& id, int ranks, int rank);  // begins to meet the others
  // Ends at once what finish() has not ended. Graphs that hold its collectives must have been destroyed.
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  Progress progress();
  std::string error() const;  // of kFailed

  // Queued on a stream (cudaStream_t). Sums of float32, float64 or int64; the rest of any dtype.
  void all_reduce(TensorView values, void* stream);
  void reduce_scatter(ConstTensorView values, TensorView my_part, void* stream);
  void all_gather(ConstTensorView my_part, TensorView values, void* stream);

  void finish();          // begins to take leave of the others
  void abort() noexcept;  // at once, also of work the GPU is doing; then kFailed

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace segue::nccl

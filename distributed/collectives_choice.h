// Chooses the transport for the tensors of ranks that train on GPUs: NCCL, or MPI through memory of the host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/device.h"
#include "base/log.h"
#include "distributed/collectives.h"
#include "distributed/job.h"

namespace segue {

enum class CollectivesKind : uint8_t { kAuto, kNccl, kMpi };

// One rank's contribution to the choice.
struct RankGpu {
  std::string host;
  std::string device;          // as the host counts: "cuda:1"
  std::string uuid;            // of the GPU, unlike any other's
  int nccl_version = 0;        // as in distributed/nccl.h; 0: none
  std::string complaint;       // why there is none
  bool may_share_gpu = false;  // NCCL_MULTI_RANK_GPU_ENABLE=1
};

struct CollectivesChoice {
  bool is_nccl = false;
  std::string obstacle;  // why it is not although "auto" would take it; empty when nothing needs to be said
};

// The same on every rank. A single rank needs no transport, and takes NCCL only on demand. Throws DeviceError when NCCL
// is demanded and cannot be used.
CollectivesChoice choose_collectives(CollectivesKind wanted, std::span<const RankGpu> ranks);

// For tensors on `device`, a GPU: NCCL's when that is the choice, otherwise the job's own. A warning says why "auto"
// does not take NCCL.
std::unique_ptr<Collectives> open_gpu_collectives(Job& job, Device device, CollectivesKind wanted,
                                                  double timeout_seconds, Logger& logger);

}  // namespace segue

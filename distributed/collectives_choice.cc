// NCCL where every rank has it and a GPU for itself.
#include "distributed/collectives_choice.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/cuda.h"
#include "base/error.h"
#include "base/json_text.h"
#include "distributed/nccl.h"
#include "distributed/nccl_collectives.h"

namespace segue {

namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

bool can_share_gpu(const RankGpu& rank) { return rank.may_share_gpu && rank.nccl_version >= nccl::kSharesGpus; }

// Empty when NCCL can be used.
std::string obstacle_to_nccl(std::span<const RankGpu> ranks) {
  for (size_t r = 0; r < ranks.size(); ++r) {
    const RankGpu& rank = ranks[r];
    if (rank.nccl_version == 0) return fmt::format("rank {} on {}: {}", r, rank.host, rank.complaint);
    if (rank.nccl_version != ranks[0].nccl_version)
      return fmt::format("rank {} on {} has NCCL {}, rank 0 has {}", r, rank.host, version_text(rank.nccl_version),
                         version_text(ranks[0].nccl_version));
    for (size_t other = 0; other < r; ++other) {
      if (ranks[other].uuid != rank.uuid || (can_share_gpu(rank) && can_share_gpu(ranks[other]))) continue;
      return fmt::format(
          "ranks {} and {} share {} of {}, which NCCL {} and later allow with NCCL_MULTI_RANK_GPU_ENABLE=1", other, r,
          rank.device, rank.host, version_text(nccl::kSharesGpus));
    }
  }
  return "";
}

bool is_set_to_one(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && std::string_view(value) == "1";
}

std::string describe_mine(const std::string& host, Device device) {
  const nccl::Library library = nccl::find_library();
  return OrderedJson{{"host", host},
                     {"device", name_of(device)},
                     {"uuid", cuda::describe_device(device.index).uuid},
                     {"nccl_version", library.version},
                     {"complaint", library.complaint},
                     {"may_share_gpu", is_set_to_one("NCCL_MULTI_RANK_GPU_ENABLE")}}
      .dump();
}

RankGpu rank_gpu_of(const std::string& text) {
  const OrderedJson said = OrderedJson::parse(text);
  return {.host = said["host"],
          .device = said["device"],
          .uuid = said["uuid"],
          .nccl_version = said["nccl_version"],
          .complaint = said["complaint"],
          .may_share_gpu = said["may_share_gpu"]};
}

}  // namespace

CollectivesChoice choose_collectives(CollectivesKind wanted, std::span<const RankGpu> ranks) {
  if (wanted == CollectivesKind::kMpi || (wanted == CollectivesKind::kAuto && ranks.size() == 1)) return {};
  const std::string obstacle = obstacle_to_nccl(ranks);
  if (obstacle.empty()) return {.is_nccl = true, .obstacle = ""};
  if (wanted == CollectivesKind::kNccl) throw DeviceError("NCCL was asked for and cannot be used: {}", obstacle);
  return {.is_nccl = false, .obstacle = obstacle};
}

std::unique_ptr<Collectives> open_gpu_collectives(Job& job, Device device, CollectivesKind wanted,
                                                  double timeout_seconds, Logger& logger) {
  cuda::require_device(device.index);
  std::vector<RankGpu> ranks;
  for (const std::string& text : job.gather(describe_mine(job.host(), device))) ranks.push_back(rank_gpu_of(text));
  const CollectivesChoice choice = choose_collectives(wanted, ranks);
  if (choice.is_nccl) return std::make_unique<NcclCollectives>(job, device, timeout_seconds);
  std::unique_ptr<Collectives> collectives = job.open_collectives(device);
  if (!choice.obstacle.empty() && job.is_first())
    logger.warn("gradients go through the host's memory and {}, not NCCL: {}", collectives->name(), choice.obstacle);
  return collectives;
}

}  // namespace segue

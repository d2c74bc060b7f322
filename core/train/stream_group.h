// The streams of a batch, cut into groups that run one after another: gradient accumulation over columns of the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/memory/memory.h"
#include "distributed/share.h"

namespace segue {

// Streams first .. first + count - 1, with their memory. Which group a stream is in changes nothing but rounding.
struct StreamGroup {
  int64_t first = 0;
  int64_t count = 0;
  std::unique_ptr<TrainingMemory> memory;
};

// The streams of a share in `groups` groups, or one group each when there are fewer streams; sizes differ by at most
// one, the larger first.
std::vector<StreamGroup> make_stream_groups(const ModelConfig& model, const ModelUse& use, const Share& streams,
                                            int64_t groups, const Compute& compute = {});

}  // namespace segue

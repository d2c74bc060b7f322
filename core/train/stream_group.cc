#include "core/train/stream_group.h"

#include <algorithm>

namespace segue {

std::vector<StreamGroup> make_stream_groups(const ModelConfig& model, const ModelUse& use, const Share& streams,
                                            int64_t groups, const Compute& compute) {
  std::vector<StreamGroup> parts;
  const auto count = static_cast<int>(std::min(groups, streams.count));
  for (int g = 0; g < count; ++g) {
    const Share part = share_of(streams.count, count, g);
    parts.push_back({.first = streams.first + part.first,
                     .count = part.count,
                     .memory = make_training_memory(model, use, part.count, compute)});
  }
  return parts;
}

}  // namespace segue

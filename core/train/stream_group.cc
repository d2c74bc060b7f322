// Even shares.
#include "core/train/stream_group.h"

namespace segue {

std::vector<StreamGroup> make_stream_groups(const Transformer& model, int64_t streams, int64_t groups,
                                            const Compute& compute) {
  std::vector<StreamGroup> parts;
  int64_t first = 0;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t count = streams / groups + (g < streams % groups ? 1 : 0);
    parts.push_back({.first = first, .count = count, .memory = model.make_memory(count, compute)});
    first += count;
  }
  return parts;
}

}  // namespace segue

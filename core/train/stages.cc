// Sums and maxima over stages.
#include "core/train/stages.h"

#include <algorithm>

namespace segue {

double tokens_after(const Config& config, int64_t step) {
  double per_stream = 0.0;
  const auto go_on = [&](int64_t last_step, const StageLengths& lengths) {
    per_stream += static_cast<double>(std::max<int64_t>(last_step - step, 0)) * static_cast<double>(lengths.tokens());
    step = std::max(step, last_step);
  };
  for (const StageConfig& stage : config.training.stages) go_on(stage.until_step, lengths_of(stage));
  go_on(config.training.max_step, last_lengths(config));
  return per_stream * static_cast<double>(config.training.batch_size);
}

int64_t longest_memory(const Config& config) {
  int64_t longest = config.model.mem_len;
  for (const StageConfig& stage : config.training.stages) longest = std::max(longest, stage.mem_len);
  return longest;
}

}  // namespace segue

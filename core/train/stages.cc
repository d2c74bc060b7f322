#include "core/train/stages.h"

#include <fmt/format.h>

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

std::string describe_stage(const Config& config, int64_t step) {
  const StageLengths now = lengths_at(config, step);
  const std::string segments = now.segments == 1 ? "segments" : fmt::format("{} segments a step", now.segments);
  std::string text = fmt::format("{} of {} tokens, a memory of {}", segments, now.tgt_len, now.mem_len);
  const auto changes = [&](auto value) {
    return std::ranges::any_of(config.training.stages, [&](auto& stage) { return stage.*value != 1.0; });
  };
  if (changes(&StageConfig::window_share)) text += fmt::format(", windows times {}", now.window_share);
  if (changes(&StageConfig::lr_factor))
    text += fmt::format(", the schedule's learning rate times {}", lr_factor_at(config, step));
  return text;
}

}  // namespace segue

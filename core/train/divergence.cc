#include "core/train/divergence.h"

#include <optional>

#include "base/error.h"

namespace segue {

// What is saved of the step itself, before its evaluation, is no good.
void refuse_divergence(int64_t step, const std::string& what, const CheckpointStore& store, const Config& config,
                       bool is_before_update) {
  std::optional<int64_t> last;
  for (const int64_t saved : store.list())
    if (saved < step) last = saved;
  const OptimizerConfig& optimizer = config.optimizer;
  const bool is_short = config.training.precision == PrecisionKind::kBf16;
  if (step == 1 && is_before_update)
    throw DivergedError("step 1: {}, before any update of the weights: {}{}", what,
                        config.training.init_from.empty()
                            ? "look at model.init, whose numbers should be near their defaults"
                            : fmt::format("look at {}, whose weights it starts with", config.training.init_from),
                        is_short ? ", or try training.precision=fp32" : "");
  const std::string from = last ? fmt::format("the last good checkpoint is {}", store.path_of(*last).string())
                                : std::string("there is no checkpoint before it");
  // --resume takes the newest one, which may be that of the step itself.
  const bool is_newest = last && store.list().back() == *last;
  const std::string_view how = is_newest ? "resume"
                               : last    ? "start a new run from it (training.init_from)"
                                         : "start again";
  throw DivergedError(
      "step {}: {}; {}; {} with a lower optimizer.lr than {}, a longer schedule.warmup_step than {}{} or {}", step,
      what, from, how, optimizer.lr, config.schedule.warmup_step, is_short ? ", training.precision=fp32" : "",
      optimizer.clip > 0.0 ? fmt::format("a smaller optimizer.clip than {}", optimizer.clip)
                           : std::string("an optimizer.clip above 0"));
}

}  // namespace segue

// The error that ends a training whose loss or gradient is no number.
#pragma once

#include <cstdint>
#include <string>

#include "core/checkpoint/checkpoint_store.h"
#include "core/config/config.h"

namespace segue {

// Throws DivergedError: that `what` was found at this step, the last checkpoint before it, and what to try. Whether it
// was found before the step updated the weights: of the first step no learning rate is the cause then.
[[noreturn]] void refuse_divergence(int64_t step, const std::string& what, const CheckpointStore& store,
                                    const Config& config, bool is_before_update);

}  // namespace segue

// The error that ends a training whose loss or gradient is no number.
#pragma once

#include <cstdint>
#include <string>

#include "core/checkpoint/checkpoint_store.h"
#include "core/config/config.h"

namespace segue {

// Throws DivergedError: that `what` was found at this step, the last checkpoint before it, and what to try.
[[noreturn]] void refuse_divergence(int64_t step, const std::string& what, const CheckpointStore& store,
                                    const Config& config);

}  // namespace segue

// Checks of a model's visibility against the other keys. Each throws ConfigError naming `source` and both keys.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/config/model_config.h"
#include "core/config/used_lengths.h"

namespace segue {

// With `same_length` and no extra key, a query sees as many keys as the memory is long: none without a memory.
void check_same_length(const ModelConfig& model, const UsedLengths& lengths, std::string_view source);

// A share below 1 makes the windows of some layer smaller.
void check_window_share(const ModelConfig& model, const UsedLengths& lengths, std::string_view source);

// The first tokens of a segment see a whole window through the memory alone. Those of a masked model see less at both
// of its ends, whatever the memory.
void check_window(const ModelConfig& model, const UsedLengths& lengths, std::string_view source);

// Segments begin where blocks and periods do.
void check_periods(const ModelConfig& model, const UsedLengths& lengths, std::string_view source);

// Patterns that do something, in every layer and for every head.
void check_all_patterns(const ModelConfig& model, std::string_view source);

// A span is a bias by distance, the logarithm of what is left of a weight: the kernels add none to rows of distances,
// and a gain, which multiplies scores, takes no key's weight away.
void check_spans(const ModelConfig& model, std::string_view source);

}  // namespace segue

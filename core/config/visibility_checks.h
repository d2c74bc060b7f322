// Checks of a model's visibility against the other keys. Each throws ConfigError naming `source` and both keys.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/config/model_config.h"

namespace segue {

// With `same_length` and no extra key, a query sees as many keys as the memory is long: none without a memory. `key`
// says where the memory's length comes from.
void check_same_length(const ModelConfig& model, const ModelUse& use, std::string_view key, std::string_view source);

// The first tokens of a segment see a whole window through the memory alone. Those of a masked model see less at both
// of its ends, whatever the memory. `key` says where its length comes from; a stage of training sees a share of
// windows.
void check_window(const ModelConfig& model, int64_t mem_len, std::string_view key, std::string_view source,
                  double window_share = 1.0);

// A share below 1 makes the windows of some layer smaller. `key` is what says it.
void check_window_share(const ModelConfig& model, double window_share, std::string_view key, std::string_view source);

// Patterns that do something, in every layer and for every head.
void check_all_patterns(const ModelConfig& model, std::string_view source);

// Segments begin where blocks and periods do. `tgt_len_key` is what says their length.
void check_periods(const ModelConfig& model, int64_t tgt_len, std::string_view tgt_len_key, std::string_view source);

// A span is a bias by distance, the logarithm of what is left of a weight: the kernels add none to rows of distances,
// and a gain, which multiplies scores, takes no key's weight away.
void check_spans(const ModelConfig& model, std::string_view source);

}  // namespace segue

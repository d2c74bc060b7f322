// What kinds ask of their own keys, of sizes and of lengths. Each throws ConfigError naming `source` and both keys.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/config/conflict.h"
#include "core/config/model_config.h"
#include "core/config/used_lengths.h"

namespace segue {

// Shares of masked tokens that leave one another room.
void check_mask_shares(const ModelConfig& model, std::string_view source);

// Without a global stream nothing projects it.
void check_global_projections(const ModelConfig& model, std::string_view source);

// Associations have a number of features that the scan of a state takes.
void check_association_sizes(const ModelConfig& model, std::string_view source);

// A compression that there is, and a loss that it can learn from.
void check_compression(const ModelConfig& model, std::string_view source);

// Rows are compressed before the segment is run that pushes them out, of which none can be; and whole groups at a time.
void check_compressed_lengths(const ModelConfig& model, const UsedLengths& lengths, std::string_view source);

// Of a layer that keeps a state: features and decay that go together, and with its position.
void check_state_keys(const ModelConfig& model, int64_t layer, std::string_view source);

// Where all layers keep a state, there are no rows.
inline constexpr Reason kNoRows{.before = "as no layer has rows of memory"};
void check_rows_of_states(const ModelConfig& model, const UsedLengths& lengths, std::string_view source);

}  // namespace segue

// Checks each kind's own keys, sizes and lengths. Every check throws ConfigError naming `source` and both keys.
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

// Layers that share their weights are alike.
void check_shared_layers(const ModelConfig& model, std::string_view source);

// Where tokens halt, a segment has no rows but theirs.
inline constexpr Reason kTokensOfTheTextHalt{.because = "the tokens of the text alone halt"};
void check_halting(const ModelConfig& model, std::string_view source);

// Of a layer that keeps a state: features and decay that go together, and with its position.
void check_state_keys(const ModelConfig& model, int64_t layer, std::string_view source);

// Where all layers keep a state, there are no rows.
inline constexpr Reason kNoRows{.because = "no layer has rows of memory"};
void check_rows_of_states(const ModelConfig& model, const UsedLengths& lengths, std::string_view source);

}  // namespace segue

// A model's layers one by one: those that `model.layers` names have axis objects of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/model_config.h"

namespace segue {

// The axis objects of layer `layer`: its own or the model's. What the model says of visibility is of layers that
// attend.
const PositionConfig& position_of_layer(const ModelConfig& model, int64_t layer);
const VisibilityConfig& visibility_of_layer(const ModelConfig& model, int64_t layer);
const ScoreConfig& score_of_layer(const ModelConfig& model, int64_t layer);

// Whether a layer keeps a state, in place of attending to rows of memory; and how many layers do.
bool keeps_state(const ModelConfig& model, int64_t layer);
int64_t state_layers(const ModelConfig& model);

// The layer whose weights layer `layer` has: itself, or the first where all layers share theirs. And the beginning of
// their names: "layers.L.".
int64_t weights_of_layer(const ModelConfig& model, int64_t layer);
std::string prefix_of_layer(const ModelConfig& model, int64_t layer);

// The features that a layer's state has for each head's keys.
int64_t state_keys(const ModelConfig& model, const ScoreConfig& score);

// Columns of a head that the layer's positions turn, if they are rotary; otherwise 0.
int64_t rotary_width_of_layer(const ModelConfig& model, int64_t layer);

// Whether any layer's features are of random directions.
bool has_random_features(const ModelConfig& model);

// What says so of the first layer that does; empty when none does.
std::string key_of_states(const ModelConfig& model);

// How layer `layer` is used when the model is used like this: what its own axis objects say of that, they go on saying.
// A stage of training sees a share of windows, and of those of window and dilated patterns: to the nearest number of
// keys, one at least.
ModelUse use_of_layer(const ModelConfig& model, const ModelUse& use, int64_t layer, double window_share = 1.0);

// The model whose windows are that share.
ModelConfig narrowed(ModelConfig model, double window_share);

// The keys that lead to them: "model.position" or "model.layers[2].position", and so on.
std::string position_key(const ModelConfig& model, int64_t layer);
std::string visibility_key(const ModelConfig& model, int64_t layer);
std::string score_key(const ModelConfig& model, int64_t layer);

// Gives every table of positions whose size is not given the rows that training with segments of `tgt_len` needs: the
// size is part of the model, which later goes without the lengths of its training.
void name_position_rows(ModelConfig& model, int64_t tgt_len);

// Throws ConfigError naming `source` and both keys when the overrides of layers contradict one another or the model.
void check_layers(const ModelConfig& model, std::string_view source);

}  // namespace segue

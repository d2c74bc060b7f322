// Draws and counts the keys that the heads of a model see in training, layer by layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/model_config.h"
#include "core/drawing/visible_pairs.h"

namespace segue::report {

// A drawing of every way of seeing that a head of some layer has, titled `name` and, where there are several, the
// layers and heads; memory is full.
std::vector<VisiblePairs> seen_pairs(const ModelConfig& model, int64_t tokens, const std::string& name);

// The same in numbers, a line for every way: pairs of query and key, tiles of 64 queries and 64 keys that hold some,
// and both as shares of those of a causal layer; several lines, each ended.
std::string count_seen_pairs(const ModelConfig& model, int64_t tokens);

}  // namespace segue::report

// Biases by distance as attention adds them to scores, read from weights.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tape/parameters.h"

namespace segue {

// [layers][heads][distances]: of distance 0 first; one layer where all layers share theirs, no heads of a layer without
// biases among others, no layers of a model without.
using DistanceBiases = std::vector<std::vector<std::vector<float>>>;

bool has_distance_biases(const ModelConfig& model);

// `parameters`: the model's, on the CPU.
DistanceBiases distance_biases(const ModelConfig& model, Parameters& parameters, int64_t distances);

}  // namespace segue

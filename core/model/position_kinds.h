// One maker per kind of position, for make_position.
#pragma once

#include <memory>

#include "core/model/position.h"

namespace segue {

std::unique_ptr<Position> make_relative_position(const ModelConfig& model);
std::unique_ptr<Position> make_sinusoidal_position(const ModelConfig& model);
std::unique_ptr<Position> make_learned_position(const ModelConfig& model);
std::unique_ptr<Position> make_shaw_position(const ModelConfig& model);

}  // namespace segue

// The settings an import makes where the source's program does things its own way, for people to read.
#pragma once

#include <string>
#include <vector>

#include "core/config/model_config.h"
#include "core/convert/weight_format.h"

namespace segue {

// One line for each: key, value, and why it matters.
std::vector<std::string> import_settings(WeightFormat format, const ModelConfig& model);

}  // namespace segue

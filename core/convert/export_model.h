// Exports Segue's models for other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/checkpoint/safetensors.h"
#include "core/config/model_config.h"
#include "core/convert/weight_format.h"

namespace segue {

// Writes the tensors under the format's names (kTransformerXl or kHuggingFace), tied ones under all of theirs, with the
// frequencies that the program stores; cluster rows in the program's order. Returns one line each for what the program
// does otherwise, although the weights fit. Throws ConfigError as check_exportable does, CheckpointError when `tensors`
// are not those of the model, FileError.
std::vector<std::string> export_weights(WeightFormat format, const ModelConfig& model, int64_t vocab_size,
                                        std::span<const NamedTensor> tensors, const std::filesystem::path& path);

}  // namespace segue

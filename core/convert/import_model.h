// Imports models of other programs. Every tensor must be found, with the right shape. They are put into the model's own
// order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "core/config/model_config.h"
#include "core/convert/weight_format.h"

namespace segue {

struct ImportedTensor {
  std::string name;    // Segue's
  OwnedTensor values;  // float32
};

struct ImportedModel {
  ModelConfig model;
  int64_t vocab_size = 0;
  int64_t tgt_len = 0;
  std::vector<ImportedTensor> tensors;
  std::vector<std::string> settings;  // one line each for what the program does its own way, and why it matters
  std::vector<std::string> notes;     // one line each for what was converted or passed over
};

// Throws ConfigError for the arguments (see read_arguments), CheckpointError naming file and tensor: one that is
// missing or not of this model, a wrong shape, integers, a value that is not finite, copies of a tied tensor that
// differ. Of such copies one is enough: some writers leave out what is shared.
ImportedModel import_model(WeightFormat format, const std::filesystem::path& model_path,
                           const std::filesystem::path& args_path);

}  // namespace segue

// Models of the authors' PyTorch code (state_dict as safetensors, constructor arguments as JSON) in and out of Segue.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "core/checkpoint/safetensors.h"
#include "core/config/model_config.h"

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
  std::vector<std::string> notes;  // one line each for what a person may want to know: converted element types
};

// Throws ConfigError for the arguments (see read_transformer_xl_args), CheckpointError naming file and tensor: one that
// is missing or not of this model, a wrong shape, integers, tied tensors whose two copies differ. Of two tied copies
// one may be absent: some writers leave out what is shared.
ImportedModel import_transformer_xl(const std::filesystem::path& model_path, const std::filesystem::path& args_path);

// Writes the tensors under the original names, tied ones under both; `pos_emb.inv_freq` is left out. Throws
// ConfigError when the original computes something else (see check_original_computes), CheckpointError when `tensors`
// are not those of the model.
void export_transformer_xl(const ModelConfig& model, int64_t vocab_size, std::span<const NamedTensor> tensors,
                           const std::filesystem::path& path);

}  // namespace segue

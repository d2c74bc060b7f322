// The constructor arguments of the authors' PyTorch model as JSON, and what they mean to Segue.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/config/model_config.h"

namespace segue {

struct TransformerXlArguments {
  ModelConfig model;
  int64_t vocab_size = 0;
  int64_t tgt_len = 0;
};

// Throws ConfigError naming file and key: for unknown and missing keys, wrong types and sizes, and for what Segue has
// no implementation of: adaptive softmax (`div_val`, `cutoffs`, `sample_softmax`) and the other kinds of `attn_type`.
TransformerXlArguments read_transformer_xl_args(const std::filesystem::path& path);

// Throws ConfigError for what the original cannot compute: GELU, another epsilon of its layer norms, same_length with
// the extra key, an initial memory of zeros.
void check_original_computes(const ModelConfig& model);

// The same file from Segue's side, after check_original_computes.
std::string transformer_xl_args_text(const TransformerXlArguments& arguments);

}  // namespace segue

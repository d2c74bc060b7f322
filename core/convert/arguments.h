// Other programs' description of a model beside its weights: the arguments of the model's constructor as JSON, or
// Hugging Face's config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/model_config.h"
#include "core/convert/weight_format.h"

namespace segue {

struct ForeignArguments {
  ModelConfig model;
  int64_t vocab_size = 0;
  int64_t tgt_len = 0;
  std::vector<std::string> notes = {};  // keys that were passed over, and what stands for an absent one
};

// The keys of each format:
//   transformer-xl     arguments of MemTransformerLM, with `tied` as its command line has it
//   nvidia             `model_config` of a checkpoint
//   huggingface        config.json of a TransfoXLLMHeadModel; keys that are not the model's are passed over
//   transformer-xl-tf  arguments of `transformer` in model.py, with `n_token`, `cutoffs`, `mem_len`
// A key that is null counts as absent. `vocab_size` and `n_token` stand for one another, and so do the other names that
// Hugging Face's config has had for keys; two that differ are refused. Throws ConfigError naming file and key: unknown
// and missing keys, wrong types and sizes, cutoffs that do not increase or lie outside the vocabulary, and what Segue
// has no implementation of: sampled softmax and the other kinds of `attn_type`.
ForeignArguments read_arguments(WeightFormat format, const std::filesystem::path& path);

// The same from text; `source` stands for the file in messages.
ForeignArguments parse_arguments(WeightFormat format, std::string_view text, std::string_view source);

// The same file from Segue's side: of kTransformerXl and kHuggingFace. Throws ConfigError as check_exportable does.
std::string arguments_text(WeightFormat format, const ForeignArguments& arguments);

// Throws ConfigError naming the key of what the format's program cannot compute: any choice that is not
// Transformer-XL's, another epsilon of the layer norms, a key more or less with same_length, biases per layer, clusters
// without projection.
void check_exportable(WeightFormat format, const ModelConfig& model);

}  // namespace segue

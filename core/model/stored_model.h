// A model in a checkpoint: what it takes to rebuild and evaluate it, without anything of the run that trained it.
//
//   model.json           StoredModel
//   weights.safetensors  every parameter under its name, float32
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/checkpoint/checkpoint.h"
#include "core/config/config.h"
#include "core/tape/parameters.h"

namespace segue {

inline constexpr const char* kModelFile = "model.json";
inline constexpr const char* kWeightsFile = "weights.safetensors";

struct StoredModel {
  ModelConfig model;
  int64_t vocab_size = 0;
  int64_t tgt_len = 0;                        // segment length it was trained with
  std::string tokenizer;                      // of the dataset it was trained on; empty when unknown (an import)
  std::optional<std::string> extension = {};  // that its kind of memory comes from, if from one
  void describe(JsonFields& fields);
};

TextFile model_file(const StoredModel& stored);
// `values` are the parameters' values, readable by the CPU.
TensorFile weights_file(const Parameters& parameters, ConstTensorView values);

// What `text` says, the content of the model.json at `source`. Throws CheckpointError naming `source`, also where the
// model needs an extension that is not there: what a checkpoint says loads none.
StoredModel parse_model(std::string_view text, const std::string& source);

// Throws CheckpointError naming the extension that a checkpoint's model needs, where it is not there: before anything
// else of the checkpoint is read that names a kind.
void check_extension(const Checkpoint& checkpoint);

// Throw CheckpointError naming file and tensor, expected and found.
StoredModel read_model(const Checkpoint& checkpoint);
void check_weights(const Checkpoint& checkpoint, const Parameters& parameters);  // whether they could be read
void read_weights(const Checkpoint& checkpoint, Parameters& parameters);

// The tensors of a flat block (parameters, gradients, moments) on the CPU under the parameters' names.
std::vector<NamedTensor> named_parts(const Parameters& parameters, ConstTensorView flat);
void read_parts(const SafetensorsFile& file, const Parameters& parameters, TensorView flat);

}  // namespace segue

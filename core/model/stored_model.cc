// model.json and weights.safetensors.
#include "core/model/stored_model.h"

#include "base/json_fields.h"
#include "base/process_status.h"
#include "core/model/parameter_specs.h"

namespace segue {

// The bound of a vocabulary and of a segment.
constexpr double kMostTokens = 2147483647;

void StoredModel::describe(JsonFields& fields) {
  fields.required("model", model, {.meaning = "the model"});
  fields.required("vocab_size", vocab_size,
                  {.meaning = "size of the vocabulary", .unit = "tokens", .minimum = 2, .maximum = kMostTokens});
  fields.required(
      "tgt_len", tgt_len,
      {.meaning = "segment length of the training", .unit = "tokens", .minimum = 1, .maximum = kMostTokens});
  fields.required("tokenizer", tokenizer, {.meaning = "tokenizer of the training data; empty when unknown"});
}

TextFile model_file(const StoredModel& stored) { return {kModelFile, write_fields(stored).dump(2) + "\n"}; }

std::vector<NamedTensor> named_parts(const Parameters& parameters, ConstTensorView flat) {
  std::vector<NamedTensor> parts;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    parts.push_back({parameters.specs()[i].name, parameters.part_of(flat, i)});
  }
  return parts;
}

namespace {

// The tensors of a file that are the model's, each of its shape, and no others.
std::vector<ConstTensorView> tensors_of(const SafetensorsFile& file, const Parameters& parameters) {
  std::vector<ConstTensorView> tensors;
  for (const ParameterSpec& spec : parameters.specs())
    tensors.push_back(file.tensor(spec.name, DType::kFloat32, spec.shape));
  for (const std::string& name : file.names()) {
    if (!parameters.contains(name))
      throw CheckpointError("{}: tensor {} is not one of the model's", file.source(), name);
  }
  return tensors;
}

}  // namespace

void read_parts(const SafetensorsFile& file, const Parameters& parameters, TensorView flat) {
  const std::vector<ConstTensorView> tensors = tensors_of(file, parameters);
  for (size_t i = 0; i < tensors.size(); ++i) {
    parameters.upload(flat, i, tensors[i]);
    note_progress();
  }
}

TensorFile weights_file(const Parameters& parameters, ConstTensorView values) {
  return {kWeightsFile, named_parts(parameters, values), {{"format", "segue"}}};
}

namespace {

// Before memory is taken for a model that the weights beside it are not of.
void check_weights(const Checkpoint& checkpoint, const StoredModel& stored) {
  const SafetensorsFile weights = checkpoint.tensors(kWeightsFile);
  for (const ParameterSpec& spec : parameter_specs(stored.model, stored.vocab_size))
    static_cast<void>(weights.tensor(spec.name, DType::kFloat32, spec.shape));
}

}  // namespace

StoredModel read_model(const Checkpoint& checkpoint) {
  auto stored = checkpoint.read<StoredModel>(kModelFile);
  check_model(stored.model, (checkpoint.directory() / kModelFile).string());
  check_weights(checkpoint, stored);
  return stored;
}

void check_weights(const Checkpoint& checkpoint, const Parameters& parameters) {
  tensors_of(checkpoint.tensors(kWeightsFile), parameters);
}

void read_weights(const Checkpoint& checkpoint, Parameters& parameters) {
  read_parts(checkpoint.tensors(kWeightsFile), parameters, parameters.values());
  parameters.refresh_compute_copy();
}

}  // namespace segue

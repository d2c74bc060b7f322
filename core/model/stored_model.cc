// model.json and weights.safetensors.
#include "core/model/stored_model.h"

#include <fmt/format.h>

#include "base/json_fields.h"
#include "base/process_status.h"
#include "core/config/memory_kind.h"
#include "core/model/parameter_specs.h"

namespace segue {

// The bound of a vocabulary and of a segment.
constexpr double kMostTokens = 2147483647;

void StoredModel::describe(JsonFields& fields) {
  fields.optional("extension", extension, {.meaning = "extension that the model's kind of memory comes from"});
  fields.required("model", model, {.meaning = "the model"});
  fields.required("vocab_size", vocab_size,
                  {.meaning = "size of the vocabulary", .unit = "tokens", .minimum = 2, .maximum = kMostTokens});
  fields.required(
      "tgt_len", tgt_len,
      {.meaning = "segment length of the training", .unit = "tokens", .minimum = 1, .maximum = kMostTokens});
  fields.required("tokenizer", tokenizer, {.meaning = "tokenizer of the training data; empty when unknown"});
}

TextFile model_file(const StoredModel& stored) {
  StoredModel written = stored;
  const std::string_view extension = extension_of(stored.model.memory.kind);
  written.extension = extension.empty() ? std::nullopt : std::optional<std::string>(extension);
  return {kModelFile, write_fields(written).dump(2) + "\n"};
}

namespace {

constexpr const char* kExtensionKey = "extension";

// Before the model is read, whose kind of memory is unknown without it.
void expect_extension(const Json& document, std::string_view source) {
  if (!document.is_object() || !document.contains(kExtensionKey) || !document[kExtensionKey].is_string()) return;
  const auto& name = document[kExtensionKey].get_ref<const std::string&>();
  const Words kinds = choices_of(MemoryKind{});
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    if (const std::string_view known = extension_of(static_cast<MemoryKind>(kind)); !known.empty() && known == name)
      return;
  throw CheckpointError("{}: {}: expected an extension that is loaded, found {}; give its file by --extension FILE",
                        source, kExtensionKey, describe_json(document[kExtensionKey]));
}

}  // namespace

void check_extension(const Checkpoint& checkpoint) {
  if (!checkpoint.contains(kModelFile)) return;
  const std::string source = (checkpoint.directory() / kModelFile).string();
  expect_extension(parse_json<CheckpointError>(checkpoint.text(kModelFile), source), source);
}

StoredModel parse_model(std::string_view text, const std::string& source) {
  const auto document = parse_json<CheckpointError>(text, source);
  expect_extension(document, source);
  auto stored = read_fields<CheckpointError, StoredModel>(document, source);
  const std::string_view expected = extension_of(stored.model.memory.kind);
  if (stored.extension.value_or("") != expected)
    throw CheckpointError(R"({}: {}: expected {} with model.memory.kind = "{}", found {})", source, kExtensionKey,
                          expected.empty() ? "none" : fmt::format("\"{}\"", expected),
                          name_of_choice(stored.model.memory.kind),
                          stored.extension ? fmt::format("\"{}\"", *stored.extension) : "none");
  return stored;
}

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
  const std::string source = (checkpoint.directory() / kModelFile).string();
  StoredModel stored = parse_model(checkpoint.text(kModelFile), source);
  check_model(stored.model, source);
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

// segue import, segue export
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/convert/arguments.h"
#include "core/convert/export_model.h"
#include "core/convert/import_model.h"
#include "core/model/stored_model.h"
#include "core/model/transformer.h"
#include "launch/segue/commands.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr const char* kImportExamples =
    "Examples:\n"
    "  segue import --from transformer-xl --model model.safetensors --args args.json --output imported\n"
    "      the authors' PyTorch code: state_dict, and the arguments of MemTransformerLM\n"
    "  segue import --from nvidia --model model.safetensors --args args.json --output imported\n"
    "      NVIDIA's code: model_state and model_config of a checkpoint\n"
    "  segue import --from huggingface --model model.safetensors --args config.json --output imported\n"
    "      a TransfoXLLMHeadModel\n"
    "  segue import --from transformer-xl-tf --model model.npz --args args.json --output imported\n"
    "      the authors' TensorFlow code: its variables, and the arguments of its model with n_token and cutoffs\n"
    "  segue eval --checkpoint imported --data data/books\n"
    "launch/convert/convert_torch.py makes model.safetensors and args.json of the .pt and .bin files of the first "
    "three.";
constexpr const char* kExportExamples =
    "Examples:\n"
    "  segue export --checkpoint runs/books --output model.safetensors --args args.json\n"
    "      names and arguments of the authors' PyTorch code, tied tensors under both of their names\n"
    "  segue export --checkpoint runs/books --format huggingface --output exported\n"
    "      a directory for TransfoXLLMHeadModel.from_pretrained of transformers 4.37 and before; 4.38 to 4.57 load it "
    "too,\n"
    "      but fail in their own forward pass, which gives Tensor.type_as a keyword that torch does not have";
constexpr std::array kSources{WeightFormat::kTransformerXl, WeightFormat::kTransformerXlTf, WeightFormat::kNvidia,
                              WeightFormat::kHuggingFace};
constexpr std::array kTargets{WeightFormat::kTransformerXl, WeightFormat::kHuggingFace};
constexpr const char* kHuggingFaceWeights = "model.safetensors";
constexpr const char* kHuggingFaceConfig = "config.json";

struct ImportOptions {
  WeightFormat from = WeightFormat::kTransformerXl;
  std::string model;
  std::string args;
  std::string output;
};

struct ExportOptions {
  std::string checkpoint;
  WeightFormat format = WeightFormat::kTransformerXl;
  std::string output;
  std::string args;  // empty: not written
};

// A choice among formats, by their names; as words of our own, since CLI11 would list the enumerators' numbers.
void add_format_option(CLI::App& command, const std::string& option, WeightFormat& format,
                       std::span<const WeightFormat> choices, const std::string& meaning) {
  std::vector<std::string> names;
  for (const WeightFormat choice : choices) names.emplace_back(name_of_choice(choice));
  command
      .add_option_function<std::string>(
          option,
          [&format, names, choices](const std::string& name) {
            const auto place = std::find(names.begin(), names.end(), name) - names.begin();
            format = choices[static_cast<size_t>(place)];
          },
          meaning)
      ->check(one_of(names))
      ->default_str(names.front());
}

void run_import(const ImportOptions& options) {
  const ImportedModel imported = import_model(options.from, options.model, options.args);
  TensorFile weights{kWeightsFile, {}, {{"format", "segue"}}};
  int64_t count = 0;
  for (const ImportedTensor& tensor : imported.tensors) {
    weights.tensors.push_back({tensor.name, tensor.values.view()});
    count += tensor.values.shape().elements();
  }
  const StoredModel stored{
      .model = imported.model, .vocab_size = imported.vocab_size, .tgt_len = imported.tgt_len, .tokenizer = {}};
  write_checkpoint(options.output, 0, {.tensor_files = {weights}, .text_files = {model_file(stored)}});
  for (const std::string& setting : imported.settings) fmt::print("set {}\n", visible_line(setting));
  for (const std::string& note : imported.notes) fmt::print("note: {}\n", visible_line(note));
  fmt::print("{}: {} parameters in {} tensors, vocabulary {}\n", options.output, human_count(count),
             imported.tensors.size(), imported.vocab_size);
}

// Where the weights and the arguments go; no path for arguments that are not asked for.
struct ExportPaths {
  std::filesystem::path weights;
  std::filesystem::path arguments;
};

ExportPaths paths_of(const ExportOptions& options) {
  if (options.format != WeightFormat::kHuggingFace) return {options.output, options.args};
  if (!options.args.empty())
    throw UsageError("--args: not with --format huggingface, which writes {} beside the weights", kHuggingFaceConfig);
  const std::filesystem::path directory = options.output;
  return {directory / kHuggingFaceWeights, directory / kHuggingFaceConfig};
}

void run_export(const ExportOptions& options) {
  const ExportPaths paths = paths_of(options);
  const ResolvedCheckpoint resolved = resolve_checkpoint(options.checkpoint);
  for (const std::string& complaint : resolved.complaints) fmt::print(stderr, "damaged: {}\n", visible_line(complaint));
  const StoredModel stored = read_model(resolved.checkpoint);
  Parameters parameters(Transformer(stored.model, stored.vocab_size).parameter_specs());
  read_weights(resolved.checkpoint, parameters);
  const std::string arguments = arguments_text(options.format, {stored.model, stored.vocab_size, stored.tgt_len});
  if (options.format == WeightFormat::kHuggingFace) make_directories(options.output);
  const std::vector<std::string> notes = export_weights(options.format, stored.model, stored.vocab_size,
                                                        named_parts(parameters, parameters.values()), paths.weights);
  if (!paths.arguments.empty()) write_file_atomically(paths.arguments, arguments);
  for (const std::string& note : notes) fmt::print("note: {}\n", visible_line(note));
  fmt::print("{}: {} parameters of step {}\n", options.output, human_count(parameters.count()),
             resolved.checkpoint.step());
}

}  // namespace

void add_import_command(CLI::App& app) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand("import", "Make a checkpoint of another program's weights");
  command->footer(kImportExamples);
  add_format_option(*command, "--from", options->from, kSources, "Program the weights come from");
  command->add_option("--model", options->model, "Weights (safetensors or .npz)")->required();
  command->add_option("--args", options->args, "Arguments of the model (JSON)")->required();
  command->add_option("--output", options->output, "Checkpoint directory to make")->required();
  command->callback([options] { run_import(*options); });
}

void add_export_command(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Write a checkpoint's weights for another program");
  command->footer(kExportExamples);
  command->add_option("--checkpoint", options->checkpoint, "A run (its newest intact checkpoint) or one checkpoint")
      ->required();
  add_format_option(*command, "--format", options->format, kTargets, "Program the weights are for");
  command->add_option("--output", options->output, "File to write (safetensors); huggingface: directory")->required();
  command->add_option("--args", options->args, "Also write the constructor arguments here (JSON)");
  command->callback([options] { run_export(*options); });
}

}  // namespace segue

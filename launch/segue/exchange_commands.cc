// segue import, segue export
#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/exchange/transformer_xl.h"
#include "core/exchange/transformer_xl_args.h"
#include "core/model/stored_model.h"
#include "core/model/transformer.h"
#include "launch/segue/commands.h"

namespace segue {

namespace {

constexpr const char* kImportExamples =
    "Example:\n"
    "  segue import --from transformer-xl --model model.safetensors --args args.json --output imported\n"
    "  segue eval --checkpoint imported --data data/books\n"
    "The model file holds the state_dict of the authors' PyTorch code, args.json its constructor's arguments.";
constexpr const char* kExportExamples =
    "Example:\n"
    "  segue export --checkpoint runs/books --output model.safetensors --args args.json\n"
    "Writes the names of the authors' PyTorch code, tied tensors under both of theirs.";

struct ImportOptions {
  std::string from = "transformer-xl";
  std::string model;
  std::string args;
  std::string output;
};

struct ExportOptions {
  std::string checkpoint;
  std::string output;
  std::string args;  // empty: not written
};

void run_import(const ImportOptions& options) {
  const ImportedModel imported = import_transformer_xl(options.model, options.args);
  TensorFile weights{kWeightsFile, {}, {{"format", "segue"}}};
  int64_t count = 0;
  for (const ImportedTensor& tensor : imported.tensors) {
    weights.tensors.push_back({tensor.name, tensor.values.view()});
    count += tensor.values.shape().elements();
  }
  const StoredModel stored{
      .model = imported.model, .vocab_size = imported.vocab_size, .tgt_len = imported.tgt_len, .tokenizer = {}};
  write_checkpoint(options.output, 0, {.tensor_files = {weights}, .text_files = {model_file(stored)}});
  for (const std::string& note : imported.notes) fmt::print("note: {}\n", note);
  fmt::print("{}: {} parameters in {} tensors, vocabulary {}\n", options.output, human_count(count),
             imported.tensors.size(), imported.vocab_size);
}

void run_export(const ExportOptions& options) {
  const ResolvedCheckpoint resolved = resolve_checkpoint(options.checkpoint);
  for (const std::string& complaint : resolved.complaints) fmt::print(stderr, "damaged: {}\n", complaint);
  const StoredModel stored = read_model(resolved.checkpoint);
  Parameters parameters(Transformer(stored.model, stored.vocab_size).parameter_specs());
  read_weights(resolved.checkpoint, parameters);
  export_transformer_xl(stored.model, stored.vocab_size, named_parts(parameters, parameters.values()), options.output);
  if (!options.args.empty()) {
    write_file_atomically(options.args, transformer_xl_args_text({stored.model, stored.vocab_size, stored.tgt_len}));
  }
  fmt::print("{}: {} parameters of step {}\n", options.output, human_count(parameters.count()),
             resolved.checkpoint.step());
}

}  // namespace

void add_import_command(CLI::App& app) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand("import", "Make a checkpoint of another program's weights");
  command->footer(kImportExamples);
  command->add_option("--from", options->from, "Program the weights come from")
      ->check(CLI::IsMember({"transformer-xl"}))
      ->capture_default_str();
  command->add_option("--model", options->model, "Weights (safetensors)")->required();
  command->add_option("--args", options->args, "Constructor arguments (JSON)")->required();
  command->add_option("--output", options->output, "Checkpoint directory to make")->required();
  command->callback([options] { run_import(*options); });
}

void add_export_command(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Write a checkpoint's weights for the authors' PyTorch code");
  command->footer(kExportExamples);
  command->add_option("--checkpoint", options->checkpoint, "A run (its newest intact checkpoint) or one checkpoint")
      ->required();
  command->add_option("--output", options->output, "File to write (safetensors)")->required();
  command->add_option("--args", options->args, "Also write the constructor arguments here (JSON)");
  command->callback([options] { run_export(*options); });
}

}  // namespace segue

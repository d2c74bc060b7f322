// segue import, segue export
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/unfinished_output.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/convert/arguments.h"
#include "core/convert/export_model.h"
#include "core/convert/finite_weights.h"
#include "core/convert/import_model.h"
#include "core/model/parameter_specs.h"
#include "core/model/stored_model.h"
#include "core/model/stored_tokenizer.h"
#include "data_pipeline/choose_tokenizer.h"
#include "data_pipeline/dataset.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"
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
    "  segue import --from transformer-xl --model model.safetensors --args args.json --data data/books --output "
    "imported\n"
    "      with the tokenizer of a dataset, so that the model can score and generate text\n"
    "  segue import --from transformer-xl --model model.safetensors --args args.json --tokenizer vocabulary.txt --eos "
    "line --output imported\n"
    "      with the tokenizer of a file: here a list of words, with <eos> at every end of a line\n"
    "launch/convert/convert_torch.py makes model.safetensors and args.json from the .pt and .bin files of the first\n"
    "three, and vocabulary.txt from their vocabularies (cache.pt, vocab.bin, vocab.pkl).\n"
    "Import leaves out what torch.compile, DataParallel and FSDP put before names (_orig_mod., module.).";
constexpr const char* kExportExamples =
    "Examples:\n"
    "  segue export --checkpoint runs/books --output model.safetensors --args args.json\n"
    "      names and arguments of the authors' PyTorch code, tied tensors under both of their names\n"
    "  segue export --checkpoint runs/books --format huggingface --output exported\n"
    "      a directory for TransfoXLLMHeadModel.from_pretrained of transformers 4.37 and before. 4.38 to 4.57 load it\n"
    "      too, but their own forward pass fails: it gives Tensor.type_as a keyword that torch does not have";
constexpr const char* kHuggingFaceWeights = "model.safetensors";
constexpr const char* kHuggingFaceConfig = "config.json";

// The programs that weights are written for: some of those that they are read from.
enum class Target : uint8_t { kTransformerXl, kHuggingFace };
Words choices_of(Target /*target*/) {
  static const std::array kWords{name_of_choice(WeightFormat::kTransformerXl),
                                 name_of_choice(WeightFormat::kHuggingFace)};
  return kWords;
}

struct ImportOptions {
  WeightFormat from = WeightFormat::kTransformerXl;
  std::string model;
  std::string args;
  std::string output;
  std::string data;
  TokenizerOptions tokenizer;

  void describe(JsonFields& fields) {
    fields.optional("from", from, {.meaning = "program the weights come from"});
    fields.required("model", model,
                    {.meaning = "file of weights (safetensors or .npz), list of its shards "
                                "(model.safetensors.index.json), or a directory with one of these",
                     .flag = {.value = "PATH"}});
    fields.required("args", args, {.meaning = "arguments of the model (JSON)", .flag = {.value = "FILE"}});
    fields.required("output", output,
                    {.meaning = "checkpoint directory to make", .flag = {.value = "DIR", .is_output = true}});
    fields.optional("data", data,
                    {.meaning = "dataset whose tokenizer the weights were trained with. Without --data or --tokenizer, "
                                "the checkpoint knows tokens, but no text",
                     .flag = {.value = "DIR"}});
    tokenizer.describe_file(fields);
  }
};

struct ExportOptions {
  std::string checkpoint;
  Target format = Target::kTransformerXl;
  std::string output;
  std::string args;  // empty: not written

  void describe(JsonFields& fields) {
    fields.required("checkpoint", checkpoint,
                    {.meaning = kCheckpointMeaning, .flag = {.value = "DIR", .may_be_unnamed = true}});
    describe_extensions(fields);
    fields.optional("format", format, {.meaning = "program the weights are for"});
    fields.required("output", output,
                    {.meaning = "file to write (safetensors), or for huggingface a directory",
                     .flag = {.value = "PATH", .is_output = true}});
    fields.optional(
        "args", args,
        {.meaning = "also write the constructor arguments here (JSON)", .flag = {.value = "FILE", .is_output = true}});
  }

  WeightFormat target() const {
    return format == Target::kHuggingFace ? WeightFormat::kHuggingFace : WeightFormat::kTransformerXl;
  }
};

// Null where none is asked for.
std::unique_ptr<Tokenizer> tokenizer_of(const ImportOptions& options) {
  if (!options.tokenizer.file.empty()) return read_tokenizer_file(options.tokenizer, *make_logger(false));
  if (options.data.empty()) return nullptr;
  std::unique_ptr<Tokenizer> tokenizer = Dataset(options.data).tokenizer();
  if (tokenizer == nullptr)
    throw DataError(
        "{}: expected a dataset of text, found one of ready-made tokens, which has no tokenizer; name its "
        "file with --tokenizer",
        options.data);
  return tokenizer;
}

void check_vocabulary(const ImportOptions& options, const TokenizerInfo& info, const ImportedModel& imported) {
  if (info.vocabulary == imported.vocab_size) return;
  throw DataError("{}: expected a vocabulary of {}, that of the weights in {}, found one of {} ({})",
                  options.data.empty() ? options.tokenizer.file.string() : options.data,
                  human_count(imported.vocab_size), options.model, human_count(info.vocabulary),
                  name_of_choice(info.kind));
}

// What may have been forgotten with a list of words: the published models were trained on lines with a mark at the end.
std::string note_of_marks(const Tokenizer& tokenizer, const ImportOptions& options) {
  const TokenizerInfo& info = tokenizer.info();
  const bool is_list = info.kind == TokenizerKind::kWord && options.data.empty();
  if (!is_list || options.tokenizer.line_marks) return "";
  constexpr std::string_view kMark = "<eos>\n";
  const std::string words = tokenizer.file_text();
  if (!words.starts_with(kMark) && words.find(fmt::format("\n{}", kMark)) == std::string::npos) return "";
  return "the vocabulary has the word <eos>; --eos line marks ends of lines with it, as models of WikiText expect";
}

void run_import(const ImportOptions& options) {
  if (path_exists(options.output))
    throw CheckpointError("{}: exists already, and holds {}; name another --output", options.output,
                          describe_content(options.output));
  const std::vector<DirectoryKind> kinds = kinds_in(options.model);
  const auto whole = whole_of_file(options.model);
  if ((whole && whole->kind == "a checkpoint") || std::ranges::count(kinds, DirectoryKind::kRun) > 0 ||
      std::ranges::count(kinds, DirectoryKind::kCheckpoint) > 0)
    throw UsageError("--model {}: expected weights of another program, found {}; it needs no import", options.model,
                     describe_path(options.model));
  if (options.from != WeightFormat::kHuggingFace && kind_of_file(options.args) == DocumentKind::kTransformersConfig)
    throw UsageError("--args {}: expected the arguments of {}, found {}; give --from huggingface", options.args,
                     name_of_choice(options.from), describe_path(options.args));
  const CleanInterrupt clean;
  const std::unique_ptr<Tokenizer> tokenizer = tokenizer_of(options);
  ImportedModel imported = import_model(options.from, options.model, options.args);
  if (tokenizer != nullptr) {
    check_vocabulary(options, tokenizer->info(), imported);
    if (std::string note = note_of_marks(*tokenizer, options); !note.empty()) imported.notes.push_back(std::move(note));
  }
  TensorFile weights{kWeightsFile, {}, {{"format", "segue"}}};
  int64_t count = 0;
  for (const ImportedTensor& tensor : imported.tensors) {
    weights.tensors.push_back({tensor.name, tensor.values.view()});
    count += tensor.values.shape().elements();
  }
  StoredModel stored{
      .model = imported.model, .vocab_size = imported.vocab_size, .tgt_len = imported.tgt_len, .tokenizer = {}};
  std::vector<TextFile> texts;
  if (tokenizer != nullptr) {
    stored.tokenizer = name_of_choice(tokenizer->info().kind);
    texts = tokenizer_files(*tokenizer);
  }
  texts.push_back(model_file(stored));
  write_checkpoint(options.output, 0, {.tensor_files = {weights}, .text_files = texts});
  for (const std::string& setting : imported.settings) fmt::print("set {}\n", visible_line(setting));
  for (const std::string& note : imported.notes) fmt::print("note: {}\n", visible_line(note));
  fmt::print("{}: {} parameters in {} tensors, vocabulary {}, {}\n", options.output, human_count(count),
             imported.tensors.size(), imported.vocab_size,
             tokenizer == nullptr ? "no tokenizer" : fmt::format("tokenizer {}", stored.tokenizer));
}

// Where the weights and the arguments go; no path for arguments that are not asked for.
struct ExportPaths {
  std::filesystem::path weights;
  std::filesystem::path arguments;
};

ExportPaths paths_of(const ExportOptions& options) {
  if (options.format != Target::kHuggingFace) return {options.output, options.args};
  if (!options.args.empty())
    throw UsageError("--args: not with --format huggingface, which writes {} beside the weights", kHuggingFaceConfig);
  const std::filesystem::path directory = options.output;
  if (path_exists(directory) && (!std::filesystem::is_directory(directory) || !std::filesystem::is_empty(directory)))
    throw UsageError("{}: exists and is not an empty directory: it holds {}; name another --output", options.output,
                     describe_content(options.output));
  return {directory / kHuggingFaceWeights, directory / kHuggingFaceConfig};
}

void run_export(const ExportOptions& options) {
  const CleanInterrupt clean;
  const ExportPaths paths = paths_of(options);
  if (options.format != Target::kHuggingFace) {
    check_output_files({{"--output", paths.weights, OutputKind::kExportedWeights},
                        {"--args", paths.arguments, OutputKind::kModelArguments}});
  }
  const ResolvedCheckpoint resolved = resolve_checkpoint(options.checkpoint);
  for (const std::string& complaint : resolved.complaints) fmt::print(stderr, "damaged: {}\n", visible_line(complaint));
  if (!resolved.choice.empty()) fmt::print(stderr, "{}\n", visible_line(resolved.choice));
  const StoredModel stored = read_model(resolved.checkpoint);
  Parameters parameters(parameter_specs(stored.model, stored.vocab_size));
  read_weights(resolved.checkpoint, parameters);
  for (const NamedTensor& weights : named_parts(parameters, parameters.values()))
    check_finite(weights.tensor, fmt::format("{}: tensor {}", resolved.checkpoint.directory().string(), weights.name));
  const std::string arguments = arguments_text(options.target(), {stored.model, stored.vocab_size, stored.tgt_len});
  if (options.format == Target::kHuggingFace) make_directories(options.output);
  const std::vector<std::string> notes = export_weights(options.target(), stored.model, stored.vocab_size,
                                                        named_parts(parameters, parameters.values()), paths.weights);
  if (!paths.arguments.empty()) write_file_atomically(paths.arguments, arguments);
  for (const std::string& note : notes) fmt::print("note: {}\n", visible_line(note));
  fmt::print("{}: {} parameters of step {}\n", options.output, human_count(parameters.count()),
             resolved.checkpoint.step());
}

}  // namespace

void add_import_command(CLI::App& app) {
  CLI::App& command =
      add_command(app, "import", "Make a checkpoint from another program's weights", kImportExamples, run_import);
  flag_excludes(command, "--data", "--tokenizer");
  for (const char* flag : {"--unk", "--eos", "--eos-word", "--encoding", "--special-tokens"})
    flag_needs(command, flag, "--tokenizer");
}

void add_export_command(CLI::App& app) {
  add_command(app, "export", "Write a checkpoint's weights for another program", kExportExamples, run_export);
}

}  // namespace segue

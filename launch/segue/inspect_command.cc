// segue inspect
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "core/attention/adaptive_span.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/checkpoint/made_by.h"
#include "core/config/bounds.h"
#include "core/engine/describe_model.h"
#include "core/model/stored_model.h"
#include "core/optimizer/update_rule.h"
#include "core/report/seen_pairs.h"
#include "core/train/model_products.h"
#include "core/train/training_state.h"
#include "data_pipeline/describe_dataset.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"
#include "launch/segue/options.h"
#include "launch/segue/run_of_checkpoint.h"

namespace segue {

namespace {

constexpr int64_t kByteVocabulary = 256;

constexpr const char* kInspectExamples =
    "Examples:\n"
    "  segue inspect data/books --verify        # splits, shards, checksums read again\n"
    "  segue inspect runs/books                 # newest intact checkpoint: model, state, files\n"
    "  segue inspect runs/books --json          # the same for programs\n"
    "  segue inspect configs/books.json --vocab-size 256\n"
    "  segue inspect configs/paper/wt103_large.json --set model.position.untie_r=true\n"
    "  segue inspect configs/books.json --json --products   # and the matrix products of a step and an evaluation\n"
    "  segue inspect configs/family/longformer.json --mask seen.svg   # what heads see: a picture, pairs and tiles\n";

struct InspectOptions {
  std::string path;
  std::vector<std::string> overrides;
  std::optional<int64_t> vocab_size;
  std::string mask;
  bool verify = false;
  bool json = false;
  bool products = false;
  bool quiet = false;

  void describe(JsonFields& fields) {
    fields.required(
        "path", path,
        {.meaning = "dataset, run, checkpoint or config file", .flag = {.value = "PATH", .is_positional = true}});
    fields.optional("vocab_size", vocab_size,
                    {.meaning = "vocabulary size for a config; default: its data.vocab_size, or 256 for bytes",
                     .unit = "tokens",
                     .minimum = 2,
                     .maximum = kWidestVocabulary});
    describe_overrides(fields, overrides);
    fields.optional("mask", mask,
                    {.meaning = "draw what the heads of a config see in training, and count pairs and tiles",
                     .flag = {.value = "FILE.svg", .is_output = true}});
    fields.optional("verify", verify, {.meaning = "read the whole dataset and compare checksums"});
    fields.optional("json", json, {.meaning = "print the same as JSON (docs/training.md has its keys)"});
    fields.optional("products", products,
                    {.meaning = "also list the matrix products of a config's training step and of its evaluation"});
    fields.optional("quiet", quiet, {.meaning = "print no progress of --verify", .flag = {.alias = "-q"}});
  }
};

int64_t moments_of(const OptimizerConfig& optimizer) { return std::ssize(moment_names(optimizer)); }

TrainingShape shape_of(const Config& config) {
  return {.lengths = last_lengths(config),
          .scored = scored_tokens(config.training, last_lengths(config).tokens()),
          .streams = config.training.batch_size,
          .moments = moments_of(config.optimizer),
          .recompute = config.training.recompute};
}
// As the checkpoint's run trains; for an import one stream with the optimizer that is the default.
TrainingShape shape_of(const Checkpoint& checkpoint, const StoredModel& stored) {
  if (const std::optional<Config> config = config_of(checkpoint)) return shape_of(*config);
  return {.lengths = {.tgt_len = stored.tgt_len}, .streams = 1, .moments = moments_of({})};
}

// What heads see, as a picture.
void draw_mask(const InspectOptions& options, const Config& config) {
  check_output_files({{"--mask", options.mask, OutputKind::kPicture}});
  const std::string title = std::filesystem::path(options.path).stem().string();
  const auto drawings = report::seen_pairs(config.model, config.training.tgt_len, title);
  write_file_atomically(options.mask, report::draw(drawings, {.ink = report::Ink::kPaper}, title));
}

// The first keys of every kind.
OrderedJson json_of(const char* kind, const std::filesystem::path& path) {
  return {{"format", "segue-inspection"}, {"version", 1}, {"kind", kind}, {"path", path.string()}};
}

// Products that are the same as one, with how often they are computed.
OrderedJson products_json(const std::vector<TapeProduct>& products) {
  std::map<std::tuple<std::string, std::string, kernels::ProductShape>, int64_t> counts;
  for (const TapeProduct& product : products) ++counts[{product.operation, product.pass, product.shape}];
  OrderedJson json = OrderedJson::array();
  for (const auto& [key, count] : counts) {
    const auto& [operation, pass, shape] = key;
    json.push_back({{"operation", operation},
                    {"pass", pass},
                    {"m", shape.m},
                    {"n", shape.n},
                    {"k", shape.k},
                    {"transpose_a", shape.transpose_a},
                    {"transpose_b", shape.transpose_b},
                    {"accumulate", shape.accumulate},
                    {"in_thread", shape.in_thread},
                    {"count", count}});
  }
  return json;
}

OrderedJson products_json(const ModelProducts& products) {
  return {{"training", products_json(products.training)}, {"evaluation", products_json(products.evaluation)}};
}

void inspect_config(const InspectOptions& options) {
  const Config config = load_config(options.path, options.overrides);
  const bool is_named = !options.vocab_size && config.data.vocab_size > 0;
  const int64_t vocab_size = is_named ? config.data.vocab_size : options.vocab_size.value_or(kByteVocabulary);
  const std::vector<int64_t>& cutoffs = config.model.head.cutoffs;
  if (!is_named && !options.vocab_size && !cutoffs.empty() && cutoffs.back() >= vocab_size)
    throw UsageError("--vocab-size: expected one above model.head.cutoffs of {}, {}, found none", options.path,
                     cutoffs.back());
  check_cutoffs(config.model, vocab_size, options.path);
  if (options.json) {
    OrderedJson json = json_of("config", options.path);
    json["model"] = model_json(config.model, vocab_size, shape_of(config));
    json["config"] = to_json(config);
    if (options.products) json["products"] = products_json(products_of(config, vocab_size));
    fmt::print("{}", format_json(json));
    return;
  }
  if (!options.mask.empty()) draw_mask(options, config);
  fmt::print("{}: a config; vocabulary of {} tokens ({})\n\n", visible_line(options.path), human_count(vocab_size),
             is_named ? "data.vocab_size" : "--vocab-size");
  fmt::print("{}", describe_model(config.model, vocab_size, shape_of(config)));
  if (!options.mask.empty()) fmt::print("\n{}", report::count_seen_pairs(config.model, config.training.tgt_len));
}

OrderedJson split_json(const Dataset& dataset, const SplitInfo& split) {
  const std::optional<SourcePlace> text = dataset.text_place(split.name);
  return {{"name", split.name},
          {"tokens", split.tokens},
          {"bytes", split.bytes > 0 ? OrderedJson(split.bytes) : OrderedJson()},
          {"unknown_tokens", split.unknown},
          {"dataset", dataset.identity(split.name)},
          {"text", text ? write_fields(*text) : OrderedJson()}};
}

void print_dataset_json(const Dataset& dataset, bool is_verified) {
  OrderedJson json = json_of("dataset", dataset.directory());
  json["vocab_size"] = dataset.vocabulary();
  json["tokens"] = dataset.tokens();
  json["splits"] = OrderedJson::array();
  for (const SplitInfo& split : dataset.manifest().splits) json["splits"].push_back(split_json(dataset, split));
  json["is_verified"] = is_verified;
  json["manifest"] = write_fields(dataset.manifest());
  fmt::print("{}", format_json(json));
}

void inspect_dataset(const InspectOptions& options) {
  const Dataset dataset(options.path);
  if (options.json) {
    if (options.verify) dataset.verify(false);
    return print_dataset_json(dataset, options.verify);
  }
  fmt::print("{}", visible_lines(describe(dataset)));
  if (!options.verify) return;
  dataset.verify(options.quiet);
  fmt::print("every shard has the checksum of the manifest\n");
}

void print_state(const Checkpoint& checkpoint) {
  const TrainingState state = read_training_state(checkpoint);
  fmt::print("{:<38} step {}, {} tokens in {}\n", "trained", state.step, human_count(state.tokens),
             human_duration(state.seconds));
  fmt::print("{:<38} epoch {}, row {} of every stream\n", "next segment", state.epoch, state.row);
  if (state.evaluations > 0) {
    fmt::print("{:<38} {:.4f} nats per token at step {}\n", "best evaluation", state.best_loss, state.best_step);
  }
}

// Of a layer whose heads learn how far back they look.
struct LayerSpans {
  int64_t layer = 0;
  std::vector<double> tokens = {};  // by head
};

std::vector<LayerSpans> spans_of(const Checkpoint& checkpoint, const ModelConfig& model) {
  std::vector<LayerSpans> layers;
  const std::vector<AdaptiveSpan> spans = adaptive_spans_of(model);
  if (spans.empty()) return layers;
  const SafetensorsFile weights = checkpoint.tensors(kWeightsFile);
  for (const AdaptiveSpan& span : spans) {
    const ConstTensorView shares = weights.tensor(span.parameter(), DType::kFloat32, {model.n_head});
    LayerSpans& layer = layers.emplace_back(LayerSpans{.layer = span.layer()});
    for (int64_t n = 0; n < model.n_head; ++n)
      layer.tokens.push_back(static_cast<double>(shares.as<float>()[n]) * span.longest());
  }
  return layers;
}

void print_checkpoint_json(const ResolvedCheckpoint& resolved, const StoredModel& stored) {
  const Checkpoint& checkpoint = resolved.checkpoint;
  const std::optional<std::filesystem::path> run = run_of(checkpoint);
  const std::optional<Config> config = config_of(checkpoint);
  OrderedJson json = json_of("checkpoint", checkpoint.directory());
  json["step"] = checkpoint.step();
  json["run"] = run ? OrderedJson(run->string()) : OrderedJson();
  json["damaged"] = resolved.complaints;
  json["tokenizer"] = stored.tokenizer.empty() ? OrderedJson() : OrderedJson(stored.tokenizer);
  json["model"] = model_json(stored.model, stored.vocab_size, shape_of(checkpoint, stored));
  json["spans"] = OrderedJson::array();
  for (const LayerSpans& layer : spans_of(checkpoint, stored.model))
    json["spans"].push_back({{"layer", layer.layer}, {"tokens", layer.tokens}});
  json["state"] = checkpoint.contains(kStateFile) ? write_fields(read_training_state(checkpoint)) : OrderedJson();
  const std::optional<MadeBy> made_by = made_by_of(checkpoint);
  json["made_by"] = made_by ? write_fields(*made_by) : OrderedJson();
  json["config"] = config ? to_json(*config) : OrderedJson();
  fmt::print("{}", format_json(json));
}

void inspect_checkpoint(const InspectOptions& options) {
  const ResolvedCheckpoint resolved = resolve_checkpoint(options.path);
  const Checkpoint& checkpoint = resolved.checkpoint;
  const StoredModel stored = read_model(checkpoint);
  if (options.json) return print_checkpoint_json(resolved, stored);
  for (const std::string& complaint : resolved.complaints) fmt::print("damaged: {}\n", visible_line(complaint));
  if (!resolved.choice.empty()) fmt::print("{}\n", visible_line(resolved.choice));
  fmt::print("{}: a checkpoint, intact; vocabulary of {} tokens{}{}\n\n", visible_line(checkpoint.directory().string()),
             stored.vocab_size, stored.tokenizer.empty() ? "" : ", tokenizer ", visible_line(stored.tokenizer));
  fmt::print("{}", describe_model(stored.model, stored.vocab_size, shape_of(checkpoint, stored)));
  for (const LayerSpans& layer : spans_of(checkpoint, stored.model))
    fmt::print("{}", explained(fmt::format("spans of heads, layer {}", layer.layer),
                               fmt::format("{:.1f} tokens", fmt::join(layer.tokens, ", "))));
  if (checkpoint.contains(kStateFile)) print_state(checkpoint);
  if (const std::optional<MadeBy> made_by = made_by_of(checkpoint))
    fmt::print("{}", explained("made by", visible_line(describe_made_by(*made_by))));
}

bool holds_checkpoints(const std::filesystem::path& path) {
  return path.filename() == "checkpoints" || std::filesystem::exists(path / "checkpoints") ||
         std::filesystem::exists(path / kModelFile);
}

// A flag that would say nothing of what is inspected is refused.
void check_read(const InspectOptions& options, bool is_config) {
  const auto expect = [&](const char* flag, bool is_given, const char* what) {
    if (is_given) throw UsageError("{}: expected {}, found {}", flag, what, options.path);
  };
  expect("--set", !is_config && !options.overrides.empty(), "a config");
  expect("--vocab-size", !is_config && options.vocab_size.has_value(), "a config");
  expect("--mask", !is_config && !options.mask.empty(), "a config");
  expect("--products", !is_config && options.products, "a config");
  expect("--verify", options.verify && (is_config || holds_checkpoints(options.path)), "a dataset");
  if (!options.mask.empty() && std::filesystem::path(options.mask).extension() != ".svg")
    throw UsageError("--mask: expected a file named *.svg, found {}", options.mask);
}

// Of the four kinds of things that can be inspected, only one is a file. What is broken JSON is told by its reader.
void check_is_config(const std::string& path) {
  const std::string beginning = beginning_of(path);
  refuse_git_lfs_pointer(beginning, path);
  const size_t first = beginning.find_first_not_of(" \t\r\n");
  const bool is_object =
      first != std::string::npos && beginning[first] == '{' && beginning.find('\0') == std::string::npos;
  const DocumentKind kind = is_object ? kind_of_file(path) : DocumentKind::kUnknown;
  if (!is_object || (kind != DocumentKind::kTrainingConfig && kind != DocumentKind::kUnknown))
    throw ConfigError("{}: expected a dataset, a run, a checkpoint or a training config, found {}", path,
                      describe_path(path));
}

void run_inspect(const InspectOptions& options) {
  const std::filesystem::path path = options.path;
  if (!std::filesystem::exists(path))
    throw FileError("{}: there is no such file or directory{}", options.path, hint_at_missing(path));
  const bool is_config = std::filesystem::is_regular_file(path);
  check_read(options, is_config);
  if (is_config) check_is_config(options.path);
  if (is_config) return inspect_config(options);
  if (holds_checkpoints(path)) return inspect_checkpoint(options);
  const std::vector<DirectoryKind> kinds = kinds_in(path);
  if (std::ranges::find(kinds, DirectoryKind::kDataset) == kinds.end())
    throw UsageError("{}: expected a dataset, a run, a checkpoint or a config, found {}", options.path,
                     describe_path(path));
  inspect_dataset(options);
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  CLI::App& command =
      add_command(app, "inspect", "Explain a dataset, a run, a checkpoint or a config", kInspectExamples, run_inspect);
  flag_excludes(command, "--json", "--mask");
  flag_needs(command, "--products", "--json");
}

}  // namespace segue

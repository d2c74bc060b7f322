// segue effective-context
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/text_table.h"
#include "core/evaluation/effective_context.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"

namespace segue {

namespace {

constexpr const char* kEffectiveContextExamples =
    "Examples:\n"
    "  segue effective-context --model xl runs/xl/evaluations/memory/losses-*.h5 \\\n"
    "      --model vanilla runs/vanilla/evaluations/windows/losses-*.h5 --output effective_context.json\n"
    "  segue effective-context --model ours a.h5@100 b.h5@200 c.h5@300 --model theirs d.h5 e.h5 f.h5 --ratios 0.1,1\n"
    "A file holds the losses of one context. `segue eval --per-token` writes such files, and any program can (HDF5: "
    "nll\n"
    "[n] in nats, NaN where a token was not scored, targets [n]; attribute context). Each result depends on all "
    "models\n"
    "of the group, so that only numbers of the same group can be compared.";

struct Options {
  EffectiveContextOptions effective;
  std::string output;

  void describe(JsonFields& fields) {
    effective.describe(fields);
    fields.optional("output", output,
                    {.meaning = "write the result here as JSON", .flag = {.value = "FILE", .is_output = true}});
  }
};

using ModelWords = std::vector<std::vector<std::string>>;  // of each: name, file, file, ...

std::vector<ContextFiles> models_of(const ModelWords& words_of_models) {
  std::vector<ContextFiles> models;
  for (const std::vector<std::string>& words : words_of_models) {
    if (words.size() < 3) throw UsageError("--model {}: expected a name and two files or more", fmt::join(words, " "));
    models.push_back({.name = words.front(), .files = {words.begin() + 1, words.end()}});
  }
  return models;
}

void print(const OrderedJson& comparison) {
  std::vector<TextColumn> columns{{.head = "share of hard tokens", .cells = {}, .is_text = true}};
  for (const OrderedJson& ratio : comparison["ratios"]) columns.push_back({.head = ratio.dump(), .cells = {}});
  bool open = false;
  for (const OrderedJson& model : comparison["models"]) {
    columns.front().cells.push_back(model["name"].get<std::string>());
    for (size_t i = 0; i < model["curves"].size(); ++i) {
      const OrderedJson& curve = model["curves"][i];
      const bool ends = curve["ends_within"].get<bool>();
      columns[i + 1].cells.push_back(fmt::format("{}{}", ends ? "" : ">= ", curve["effective_context"].get<int64_t>()));
      open = open || !ends;
    }
  }
  fmt::print("{}{} tokens compared\n", text_table(columns), comparison["tokens"].get<int64_t>());
  if (open) fmt::print(">=: the longest context there is still helps\n");
}

void run(const ModelWords& models, const Options& options) {
  const std::vector<ContextFiles> files = models_of(models);
  std::vector<std::filesystem::path> inputs;
  for (const ContextFiles& model : files) inputs.insert(inputs.end(), model.files.begin(), model.files.end());
  check_output_files({{"--output", options.output, OutputKind::kEffectiveContext}}, inputs);
  const OrderedJson comparison = compare_effective_contexts(files, options.effective);
  if (!options.output.empty()) write_file_atomically(options.output, format_json(comparison));
  print(comparison);
}

}  // namespace

void add_effective_context_command(CLI::App& app) {
  auto models = std::make_shared<ModelWords>();
  CLI::App& command = add_command_reading<Options>(
      app, "effective-context", "Measure how much context each model of a group uses, from their losses",
      kEffectiveContextExamples, [models](const CLI::App& given) {
        Options options;
        read_flags(given, options);
        run(*models, options);
      });
  command
      .add_option("--model", *models,
                  "A model: its name, and a file of losses for each context. Repeat the flag for every model")
      ->required()
      ->expected(1, -1);
}

}  // namespace segue

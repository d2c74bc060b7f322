// segue effective-context
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "core/evaluation/effective_context.h"
#include "launch/segue/commands.h"

namespace segue {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  segue effective-context --model xl runs/xl/evaluations/memory/losses-*.h5 \\\n"
    "      --model vanilla runs/vanilla/evaluations/windows/losses-*.h5 --output effective_context.json\n"
    "  segue effective-context --model ours a.h5@100 b.h5@200 c.h5@300 --model theirs d.h5 e.h5 f.h5 --ratios 0.1,1\n"
    "A file holds the losses of one context: `segue eval --per-token` writes them, and any program can (HDF5: nll [n] "
    "in\n"
    "nats, NaN where a token was not scored, targets [n]; attribute context). The models are compared with one "
    "another:\n"
    "keep the pool the same for numbers that go together.";

struct Options {
  std::vector<std::vector<std::string>> models;  // name, file, file, ...
  EffectiveContextOptions effective;
  std::string output;
};

std::vector<ContextFiles> models_of(const Options& options) {
  std::vector<ContextFiles> models;
  for (const std::vector<std::string>& words : options.models) {
    if (words.size() < 3) throw UsageError("--model {}: expected a name and two files or more", fmt::join(words, " "));
    models.push_back({.name = words.front(), .files = {words.begin() + 1, words.end()}});
  }
  return models;
}

void print(const OrderedJson& comparison) {
  fmt::print("{:<20}", "share of hard tokens");
  for (const OrderedJson& ratio : comparison["ratios"]) fmt::print(" {:>8}", ratio.dump());
  fmt::print("\n");
  bool open = false;
  for (const OrderedJson& model : comparison["models"]) {
    fmt::print("{:<20}", model["name"].get<std::string>());
    for (const OrderedJson& curve : model["curves"]) {
      const bool ends = curve["ends_within"].get<bool>();
      fmt::print(" {:>8}", fmt::format("{}{}", ends ? "" : ">= ", curve["effective_context"].get<int64_t>()));
      open = open || !ends;
    }
    fmt::print("\n");
  }
  fmt::print("{} tokens compared\n", comparison["tokens"].get<int64_t>());
  if (open) fmt::print(">=: the longest context there is still helps\n");
}

void run(const Options& options) {
  const OrderedJson comparison = compare_effective_contexts(models_of(options), options.effective);
  if (!options.output.empty()) write_file_atomically(options.output, format_json(comparison));
  print(comparison);
}

}  // namespace

void add_effective_context_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("effective-context", "How much context each model of a group makes use of, from their losses");
  command->footer(kExamples);
  command->add_option("--model", options->models, "A name, and a file of losses for each context; for every model")
      ->required()
      ->expected(1, -1);
  command->add_option("--ratios", options->effective.ratios, "Shares of the hardest tokens that count")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--threshold", options->effective.threshold, "Gain that more context must bring")
      ->capture_default_str();
  command->add_option("--output", options->output, "Write the result here as JSON");
  command->callback([options] { run(*options); });
}

}  // namespace segue

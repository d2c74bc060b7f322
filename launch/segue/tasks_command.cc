// segue tasks
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "base/unfinished_output.h"
#include "data_pipeline/tasks/example_order.h"
#include "data_pipeline/tasks/task.h"
#include "data_pipeline/tasks/task_dataset.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"

namespace segue {

namespace {

constexpr const char* kTasksExamples =
    "Examples:\n"
    "  segue tasks configs/tasks/small/recall.json --output data/recall\n"
    "  segue tasks configs/tasks/small/recall_reassigned.json --set seed=2 --output data/reassigned\n"
    "  segue tasks configs/tasks/small/rewrite.json --print 3 --split test   # examples to look at\n"
    "  segue train configs/quickstart.json --set data.path=data/recall --run runs/recall\n"
    "The same file makes the same dataset on every machine. Each line of --print has the tokens of\n"
    "an example and its answers: where each begins, how many tokens it has, and how many tokens back what decides it\n"
    "stands.";

struct TasksOptions : TaskDatasetOptions {
  std::string spec;
  std::vector<std::string> overrides;
  int64_t print = 0;
  std::string split;

  void describe(JsonFields& fields) {
    fields.required("spec", spec,
                    {.meaning = "description of the task, as JSON", .flag = {.value = "FILE", .is_positional = true}});
    fields.optional(
        "output", output,
        {.meaning = "directory of the dataset", .flag = {.value = "DIR", .alias = "-o", .is_output = true}});
    fields.optional("set", overrides,
                    {.meaning = "replace a value of the file, such as seed=2",
                     .flag = {.value = "KEY=VALUE", .is_repeated = true}});
    fields.optional("print", print,
                    {.meaning = "make no dataset: print this many examples as JSON lines",
                     .minimum = 1,
                     .flag = {.value = "COUNT"}});
    fields.optional("split", split,
                    {.meaning = "split whose examples to print; default: the first", .flag = {.value = "NAME"}});
    fields.optional(
        "compress", compression,
        {.meaning = "deflate level; 0: no compression", .minimum = 0, .maximum = 9, .flag = {.value = "LEVEL"}});
    fields.optional("shard_tokens", shard_tokens,
                    {.meaning = "largest number of tokens in a shard; one shard is held in memory",
                     .minimum = 1,
                     .flag = {.value = "COUNT"}});
    fields.optional("force", force, {.meaning = "replace a dataset that is there already"});
    fields.optional("quiet", quiet, {.meaning = "print only warnings and errors", .flag = {.alias = "-q"}});
  }
};

size_t split_to_print(const TaskSpec& spec, const std::string& name) {
  if (name.empty()) return 0;
  std::string names;
  for (size_t i = 0; i < spec.splits.size(); ++i) {
    if (spec.splits[i].name == name) return i;
    names += (i == 0 ? "" : ", ") + spec.splits[i].name;
  }
  throw UsageError("--split: expected one of {}, found {}", names, name);
}

OrderedJson answers_of(const TaskExample& example) {
  OrderedJson answers = OrderedJson::array();
  for (size_t i = 0; i < example.marks.size(); ++i) {
    const TokenMark mark = example.marks[i];
    if (!mark.is_scored()) continue;
    if (!mark.continues()) answers.push_back({{"at", i}, {"tokens", 0}, {"distance", mark.distance()}});
    OrderedJson& tokens = answers.back()["tokens"];
    tokens = tokens.get<int64_t>() + 1;
  }
  return answers;
}

void print_examples(const TaskSpec& spec, const TasksOptions& options) {
  const std::unique_ptr<Task> task = make_task(spec, options.spec);
  const size_t index = split_to_print(spec, options.split);
  const TaskSplit& split = spec.splits[index];
  ExampleOrder order(split);
  TaskExample example;
  for (int64_t i = 0; i < options.print && order.next(); ++i) {
    make_example(*task, spec, index, order.part(), order.number(), example);
    example.pad(padded_tokens(split, order.part()), task->filler());
    const OrderedJson line{
        {"split", split.name}, {"part", order.part()}, {"tokens", example.tokens}, {"answers", answers_of(example)}};
    fmt::print("{}\n", line.dump());
  }
}

// So that the manifest has a command that can be pasted.
std::string command_line(const TasksOptions& options) {
  std::string text = "segue tasks " + shell_word(options.spec);
  for (const std::string& override_text : options.overrides) text += " --set " + shell_word(override_text);
  return text + " --output " + shell_word(options.output.string());
}

void run_tasks(const TasksOptions& given) {
  TasksOptions options = given;
  const TaskSpec spec = load_task_spec(options.spec, options.overrides);
  if (options.print > 0) return print_examples(spec, options);
  if (options.output.empty())
    throw UsageError("tasks: expected --output or --print, as in: segue tasks {} --output data/{}",
                     shell_word(options.spec), shell_word(std::filesystem::path(options.spec).stem().string()));
  options.command = command_line(options);
  const CleanInterrupt clean;
  write_task_dataset(spec, options.spec, options, *make_logger(options.quiet));
}

}  // namespace

void add_tasks_command(CLI::App& app) {
  CLI::App& command = add_command(app, "tasks", "Make the dataset of a synthetic task, such as recall or copying",
                                  kTasksExamples, run_tasks);
  flag_excludes(command, "--print", "--output");
  flag_needs(command, "--split", "--print");
}

}  // namespace segue

// segue schema
#include <fmt/format.h>

#include "base/json_fields.h"
#include "core/compare/comparison.h"
#include "core/config/config.h"
#include "core/evaluation/evaluation_settings.h"
#include "data_pipeline/tasks/task_spec.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

struct SchemaOptions {
  bool is_of_evaluation = false;
  bool is_of_comparison = false;
  bool is_of_tasks = false;

  void describe(JsonFields& fields) {
    fields.optional("eval", is_of_evaluation, {.meaning = "schema of the files that `segue eval --config` reads"});
    fields.optional("compare", is_of_comparison, {.meaning = "schema of the files that `segue compare` reads"});
    fields.optional("tasks", is_of_tasks, {.meaning = "schema of the files that `segue tasks` reads"});
    describe_extensions(fields);
  }
};

void print_schema(const SchemaOptions& options) {
  OrderedJson schema = options.is_of_evaluation ? schema_of<EvaluationSettings>() : config_schema();
  if (options.is_of_comparison) schema = schema_of<Comparison>();
  if (options.is_of_tasks) schema = task_schema();
  fmt::print("{}\n", schema.dump(2));
}

}  // namespace

void add_schema_command(CLI::App& app) {
  CLI::App& command = add_command(app, "schema", "Print the JSON Schema of config files, for editors",
                                  "Example:\n  segue schema > configs/segue.schema.json", print_schema);
  flag_excludes(command, "--compare", "--eval");
  flag_excludes(command, "--tasks", "--eval");
  flag_excludes(command, "--tasks", "--compare");
}

}  // namespace segue

// segue schema
#include <fmt/format.h>

#include "base/json_fields.h"
#include "core/config/config.h"
#include "core/evaluation/evaluation_settings.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"

namespace segue {

namespace {

struct SchemaOptions {
  bool is_of_evaluation = false;

  void describe(JsonFields& fields) {
    fields.optional("eval", is_of_evaluation, {.meaning = "of the files that `segue eval --config` reads"});
  }
};

void print_schema(const SchemaOptions& options) {
  const OrderedJson schema = options.is_of_evaluation ? schema_of<EvaluationSettings>() : config_schema();
  fmt::print("{}\n", schema.dump(2));
}

}  // namespace

void add_schema_command(CLI::App& app) {
  add_command(app, "schema", "Print the JSON Schema of config files, for editors",
              "Example:\n  segue schema > configs/segue.schema.json", print_schema);
}

}  // namespace segue

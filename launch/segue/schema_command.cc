// segue schema
#include <fmt/format.h>

#include <memory>

#include "base/json_fields.h"
#include "core/config/config.h"
#include "core/evaluation/evaluation_settings.h"
#include "launch/segue/commands.h"

namespace segue {

void add_schema_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("schema", "Print the JSON Schema of config files, for editors");
  command->footer("Example:\n  segue schema > configs/segue.schema.json");
  auto evaluation = std::make_shared<bool>(false);
  command->add_flag("--eval", *evaluation, "Of the files that `segue eval --config` reads");
  command->callback([evaluation] {
    const OrderedJson schema = *evaluation ? schema_of<EvaluationSettings>() : config_schema();
    fmt::print("{}\n", schema.dump(2));
  });
}

}  // namespace segue

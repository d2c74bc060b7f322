// segue schema
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/config/config.h"
#include "launch/segue/commands.h"

namespace segue {

void add_schema_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("schema", "Print the JSON Schema of config files, for editors");
  command->footer("Example:\n  segue schema > configs/segue.schema.json");
  command->callback([] { fmt::print("{}\n", config_schema().dump(2)); });
}

}  // namespace segue

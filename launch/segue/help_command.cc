// segue help
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "launch/segue/command_tree.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"
#include "launch/segue/usage_error.h"

namespace segue {

namespace {

struct HelpOptions {
  std::vector<std::string> command;

  void describe(JsonFields& fields) {
    fields.optional("command", command,
                    {.meaning = "command to explain, such as bench step; none: the program",
                     .flag = {.value = "COMMAND", .is_positional = true}});
  }
};

const CLI::App& find_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* found = &app;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> commands = commands_of(*found);
    const std::vector<std::string> names = names_of(commands);
    const auto at = std::find(names.begin(), names.end(), word);
    if (at == names.end()) throw UsageError("help: {}", unknown_command(word, names));
    found = commands[static_cast<size_t>(at - names.begin())];
  }
  return *found;
}

}  // namespace

void add_help_command(CLI::App& app) {
  const auto explain = [&app](const CLI::App& command) {
    HelpOptions options;
    read_flags(command, options);
    const CLI::App& wanted = find_command(app, options.command);
    fmt::print("{}", wanted.get_formatter()->make_help(&wanted, full_name(wanted), CLI::AppFormatMode::Normal));
  };
  add_command_reading<HelpOptions>(app, "help", "Explain a command, as COMMAND --help does",
                                   "Example:\n  segue help bench step", explain);
}

}  // namespace segue

// The library's own errors, but for words that it does not know: of those it names all at once and last first.
#include "launch/segue/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace segue {

namespace {

// The command that was given, or a command of it.
const CLI::App* innermost(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::vector<std::string> flags_of(const CLI::App* command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

std::vector<std::string> commands_of(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  return did_you_mean(nearest_word(word, {known.begin(), known.end()}));
}

bool is_flag(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

// Explains unexpected words: the first where a command was expected, otherwise the first flag, since the words beside
// it may be its values.
std::string describe_unknown(const CLI::App* app, const std::vector<std::string>& words) {
  const CLI::App* command = innermost(app);
  const std::string place = command == app ? "" : command->get_name() + ": ";
  const std::vector<std::string> commands = commands_of(command);
  if (!commands.empty() && !is_flag(words.front()))
    return fmt::format("{}unknown command {}{}", place, words.front(), nearest(words.front(), commands));
  const auto flag = std::find_if(words.begin(), words.end(), is_flag);
  if (flag == words.end()) return fmt::format("{}expected no argument \"{}\"", place, words.front());
  const std::string name = flag->substr(0, flag->find('='));
  return fmt::format("{}unknown flag {}{}", place, name, nearest(name, flags_of(command)));
}

}  // namespace

std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  const std::vector<std::string> unknown = app->remaining(true);
  const auto is = [&error](CLI::ExitCodes code) { return error.get_exit_code() == static_cast<int>(code); };
  const bool is_unknown = is(CLI::ExitCodes::RequiredError) || is(CLI::ExitCodes::ExtrasError);
  const std::string what = is_unknown && !unknown.empty() ? describe_unknown(app, unknown) : error.what();
  return "segue: " + visible_line(what) + "; --help tells what there is\n";
}

}  // namespace segue

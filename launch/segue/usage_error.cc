// The library's own errors, but for words that it does not know: of those it names all at once and last first.
#include "launch/segue/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/json_paths.h"
#include "base/text.h"
#include "launch/segue/command_tree.h"

namespace segue {

namespace {

// The command that was given, or a command of it.
const CLI::App* innermost(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  return did_you_mean(nearest_word(word, {known.begin(), known.end()}));
}

// What a flag of earlier versions is called today; "--" for any other.
std::string renamed_flag(std::string flag) {
  flag.erase(0, flag.find_first_not_of('-'));
  std::replace(flag.begin(), flag.end(), '-', '_');
  std::string today(renamed_key(flag));
  std::replace(today.begin(), today.end(), '_', '-');
  return "--" + today;
}

bool is_flag(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

// Explains unexpected words: the first where a command was expected, otherwise the first flag, since the words beside
// it may be its values.
std::string describe_unknown(const CLI::App* app, const std::vector<std::string>& words) {
  const CLI::App* command = innermost(app);
  const std::string place = command == app ? "" : command->get_name() + ": ";
  const std::vector<std::string> commands = names_of(commands_of(*command));
  if (!commands.empty() && !is_flag(words.front()))
    return fmt::format("{}unknown command {}{}", place, words.front(), nearest(words.front(), commands));
  const auto flag = std::find_if(words.begin(), words.end(), is_flag);
  if (flag == words.end()) return fmt::format("{}expected no argument \"{}\"", place, words.front());
  const std::string name = flag->substr(0, flag->find('='));
  const std::vector<std::string> flags = flags_of(*command);
  const std::string renamed = renamed_flag(name);
  if (std::find(flags.begin(), flags.end(), renamed) != flags.end())
    return fmt::format("{}{}: renamed to {}", place, name, renamed);
  return fmt::format("{}unknown flag {}{}", place, name, nearest(name, flags));
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

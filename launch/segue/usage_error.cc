// Messages are the library's own, except for unknown words: the library names all of them at once, the last first.
#include "launch/segue/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/directory_content.h"
#include "base/file.h"
#include "base/json_paths.h"
#include "base/text.h"
#include "core/config/config.h"
#include "distributed/launched_tasks.h"
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

// What other programs, and people, call a command.
struct OtherName {
  std::string_view name;
  std::string_view command;
};
constexpr std::array kOtherNames{
    OtherName{"benchmark", "bench"},  OtherName{"convert", "import"},     OtherName{"encode", "prepare"},
    OtherName{"evaluate", "eval"},    OtherName{"evaluation", "eval"},    OtherName{"finetune", "train"},
    OtherName{"fit", "train"},        OtherName{"info", "inspect"},       OtherName{"plot", "report"},
    OtherName{"ppl", "eval"},         OtherName{"preprocess", "prepare"}, OtherName{"pretrain", "train"},
    OtherName{"resume", "train"},     OtherName{"run", "train"},          OtherName{"sample", "generate"},
    OtherName{"score", "generate"},   OtherName{"show", "inspect"},       OtherName{"surprisal", "generate"},
    OtherName{"synthetic", "tasks"},  OtherName{"test", "eval"},          OtherName{"tokenize", "prepare"},
    OtherName{"training", "train"},   OtherName{"valid", "eval"},         OtherName{"validate", "eval"},
    OtherName{"visualize", "report"}, OtherName{"write", "generate"}};

// A flag without its value, or one that was given too often; empty where it is neither.
std::string describe_count(const CLI::App& command, std::string_view what) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (!what.starts_with(name + ": ")) continue;
    const int most = option->get_items_expected_max();
    const bool may_be_unnamed = option->get_positional() && option->nonpositional();
    if (option->count() == 2 && most == 1 && may_be_unnamed)
      return fmt::format(
          "{}: expected it once, found {} and {}{}", name, shell_word(option->results().front()),
          shell_word(option->results().back()),
          command.get_option_no_throw("--prompt") != nullptr ? "; a text to continue follows --prompt" : "");
    if (option->count() > static_cast<size_t>(most))
      return fmt::format("{}: expected {}, found {}", name, most == 1 ? "it once" : fmt::format("{} at most", most),
                         option->count());
    if (option->get_type_size() > 0)
      return fmt::format("{}: expected {} after it, found nothing", name, option->get_type_name());
  }
  return {};
}

// "--mask excludes --json", in the words of other errors; empty where it says neither.
std::string describe_pair(std::string_view what) {
  const auto parts = [what](std::string_view verb) -> std::optional<std::array<std::string_view, 2>> {
    const size_t at = what.find(verb);
    if (at == std::string_view::npos) return std::nullopt;
    return std::array{what.substr(0, at), what.substr(at + verb.size())};
  };
  if (const auto flags = parts(" excludes "))
    return fmt::format("{} and {}: expected one of them", flags->at(0), flags->at(1));
  if (const auto flags = parts(" requires ")) return fmt::format("{}: expected {} with it", flags->at(0), flags->at(1));
  return {};
}

// "mem_len" of "--mem-len".
std::string key_of_flag(std::string flag) {
  flag.erase(0, flag.find_first_not_of('-'));
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

std::string flag_of_key(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

// "model.mem_len=256"
bool looks_like_override(const std::string& word) {
  const auto is_of_key = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '[' || c == ']';
  };
  const size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && std::all_of(word.begin(), word.begin() + equals, is_of_key);
}

bool is_flag(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

// Whether --set of this command takes every key of a config.
bool sets_config_keys(const CLI::App& command) {
  constexpr std::array<std::string_view, 3> kOthers{"tasks", "eval", "generate"};  // a task's keys, or those of use
  const bool has_set = command.get_option_no_throw("--set") != nullptr;
  const bool is_bench = command.get_parent() != nullptr && command.get_parent()->get_name() == "bench";
  return has_set && (is_bench || std::ranges::find(kOthers, command.get_name()) == kOthers.end());
}

// What to type in place of a flag that the command does not have.
std::string hint_at_flag(const CLI::App& command, const std::string& name, const std::vector<std::string>& flags) {
  const std::string key = key_of_flag(name);
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() && option->get_name(true) == key)
      return fmt::format("; give it without a flag, as in: {} {}", full_name(command), option->get_type_name());
  std::vector<std::string> keys(flags.size());
  std::transform(flags.begin(), flags.end(), keys.begin(), key_of_flag);
  if (auto meant = meant_by_others(key, keys)) {
    meant->key = flag_of_key(meant->key);
    return did_you_mean(meant->text());
  }
  if (sets_config_keys(command)) {
    const auto meant = key_named(key, [](JsonFields& fields) { Config{}.describe(fields); });
    if (meant)
      return fmt::format("; it is a key of the config: --set {}=VALUE{}", meant->key,
                         meant->remark.empty() ? "" : fmt::format(", which {}", meant->remark));
  }
  return nearest(name, flags);
}

std::string describe_unknown_flag(const CLI::App& command, const std::string& place, const std::string& name) {
  const std::vector<std::string> flags = flags_of(command);
  const auto is_known = [&flags](const std::string& flag) { return std::ranges::find(flags, flag) != flags.end(); };
  if (is_known(name))
    return fmt::format("{}{}: expected after the command, as in: {} {}", place, name, full_name(command), name);
  const std::string renamed = flag_of_key(std::string(renamed_key(key_of_flag(name))));
  if (is_known(renamed)) return fmt::format("{}{}: renamed to {}", place, name, renamed);
  return fmt::format("{}unknown flag {}{}", place, name, hint_at_flag(command, name, flags));
}

// The command as far as it was given.
std::string typed(const CLI::App& command) {
  std::string text = full_name(command);
  bool lacks_one = false;  // of those that may be unnamed, so that the next would take its place
  for (const CLI::Option* option : command.get_options()) {
    lacks_one = lacks_one || (option->get_positional() && option->count() == 0);
    const bool has_name = !option->get_positional() || (lacks_one && option->nonpositional());
    const std::string flag = has_name ? " " + option->get_name() : "";
    const bool is_repeated = !option->get_allow_extra_args();
    if (option->count() > 0 && (option->get_expected_max() == 0 || !is_repeated)) text += flag;
    if (option->get_expected_max() == 0) continue;
    for (const std::string& word : option->results()) text += (is_repeated ? flag : "") + " " + shell_word(word);
  }
  return text;
}

// "a spec", "files"
std::string one_or_more(const std::string& name) { return name.ends_with('s') ? name : "a " + name; }

// What is missing, with all that there is already, and in its place a word that belongs nowhere; empty where that is a
// command.
std::string describe_missing(const CLI::App& command, const std::string* stray = nullptr) {
  std::string missing;
  std::string example;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ",
                           option->nonpositional() ? option->get_name() : one_or_more(option->get_name()));
    const std::string value = option->get_type_name();
    const bool is_path = value == "FILE" || value == "PATH" || value == "DIR";
    const std::string filled = is_path && stray != nullptr ? shell_word(*std::exchange(stray, nullptr)) : value;
    example += option->nonpositional() ? fmt::format(" {} {}", option->get_name(), filled) : " " + filled;
  }
  if (!missing.empty())
    return fmt::format("{}: expected {}, as in: {}{}", command.get_name(), missing, typed(command), example);
  const std::vector<std::string> commands = names_of(commands_of(command));
  if (commands.empty()) return {};
  return fmt::format("{}expected a command, one of {}, as in: {} {}",
                     command.get_parent() == nullptr ? "" : command.get_name() + ": ", fmt::join(commands, ", "),
                     full_name(command), commands.front());
}

// "; put quotes around a value with spaces, as in: --prompt 'It was'", of a word behind the value of a flag or behind a
// name that has it; nothing where it stands behind neither.
std::string with_quotes(const CLI::App& command, const std::vector<std::string>& typed_words,
                        const std::string& stray) {
  const auto at = std::ranges::find(typed_words, stray);
  if (at == typed_words.end()) return {};
  auto begin = at;
  while (begin != typed_words.begin() && !is_flag(*std::prev(begin))) --begin;
  const auto end = std::find_if(at, typed_words.end(), is_flag);
  const auto joined = [](auto first, auto last, const char* between) {
    return fmt::format("{}", fmt::join(first, last, between));
  };
  const auto equals = std::find(begin, end, "=");
  const std::string flag = begin == typed_words.begin() ? "" : *std::prev(begin);
  const bool is_value = std::next(begin) != end && !path_exists(stray) && !stray.ends_with(".json");
  if (flag == "--set" && is_value) {
    const bool has_space_at_equals = begin->ends_with('=') || std::next(begin)->starts_with('=');
    if (has_space_at_equals)
      return fmt::format("; expected KEY=VALUE without spaces, as in: --set {}", shell_word(joined(begin, end, "")));
    return fmt::format("; put quotes around a value with spaces, as in: --set {}", shell_word(joined(begin, end, " ")));
  }
  if (flag != "--set" && equals != begin && equals != end && std::next(equals) != end)
    return fmt::format("; expected KEY=VALUE without spaces, as in: --set {}",
                       shell_word(*std::prev(equals) + "=" + *std::next(equals)));
  const CLI::Option* option = flag.empty() ? nullptr : command.get_option_no_throw(flag);
  if (option != nullptr && option->get_type_name() == "TEXT" && at != begin)
    return fmt::format("; put quotes around a value with spaces, as in: {} {}", flag,
                       shell_word(joined(begin, end, " ")));
  for (const CLI::Option* each : command.get_options()) {  // a text without a flag
    if (!each->get_positional() || each->get_type_name() != "TEXT" || each->count() != 1) continue;
    const auto text = std::find(begin, at, each->results().front());
    if (text != at)
      return fmt::format("; put quotes around a text with spaces, as in: {}", shell_word(joined(text, end, " ")));
  }
  for (auto first = begin; first != at; ++first) {  // the name of a file
    const std::string name = joined(first, std::next(at), " ");
    if (path_exists(name)) return did_you_mean(shell_word(name));
  }
  return {};
}

bool is_path_of_run(const std::string& path) {
  const std::vector<DirectoryKind> kinds = kinds_in(path);
  return std::ranges::find(kinds, DirectoryKind::kRun) != kinds.end();
}

// The one argument without a flag that a command takes, and its name; nothing where it takes more or none was given.
struct TakenArgument {
  std::string name;
  std::string word;
};
std::optional<TakenArgument> taken_argument(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() && option->get_items_expected_max() == 1 && option->count() == 1)
      return TakenArgument{.name = option->nonpositional() ? option->get_name() : option->get_name(true),
                           .word = option->results().front()};
  return std::nullopt;
}

// "--resume=runs/book" names the run where nothing is expected.
std::string hint_at_resume(const std::string& what) {
  return what.starts_with("--resume: expected nothing") ? "; a run is named by --run DIR --resume" : "";
}

// Explains unexpected words: the first where a command was expected, otherwise the first flag, since the words beside
// it may be its values.
std::string describe_unknown(const CLI::App* app, const std::vector<std::string>& words,
                             const std::vector<std::string>& typed_words) {
  const CLI::App* command = innermost(app);
  const std::string place = command == app ? "" : command->get_name() + ": ";
  const std::vector<std::string> commands = names_of(commands_of(*command));
  if (!commands.empty() && !is_flag(words.front())) return place + unknown_command(words.front(), commands);
  const auto flag = std::find_if(words.begin(), words.end(), is_flag);
  if (flag != words.end()) return describe_unknown_flag(*command, place, flag->substr(0, flag->find('=')));
  const std::string stray = stray_override(*command, words);
  if (!stray.empty()) return place + stray;
  const std::string quoted = with_quotes(*command, typed_words, words.front());
  const std::string missing = quoted.empty() ? describe_missing(*command, &words.front()) : "";
  if (!missing.empty()) return fmt::format("{}; found only \"{}\"", missing, words.front());
  if (quoted.empty() && command->get_name() == "train" && is_path_of_run(words.front()))
    return fmt::format("{}expected --run before a run, as in: --run {} --resume", place, shell_word(words.front()));
  const std::optional<TakenArgument> taken = taken_argument(*command);
  if (quoted.empty() && taken)
    return fmt::format(R"({}expected one {}, found "{}" and "{}")", place, taken->name, taken->word, words.front());
  return fmt::format("{}expected no argument \"{}\"{}", place, words.front(), quoted);
}

}  // namespace

std::string forgotten_value(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  auto word = words.begin();
  for (; word != words.end(); ++word) {
    const std::vector<const CLI::App*> inner = commands_of(*command);
    const auto named = std::ranges::find(inner, *word, [](const CLI::App* each) { return each->get_name(); });
    if (named == inner.end()) break;
    command = *named;
  }
  for (; word != words.end() && std::next(word) != words.end() && *word != "--"; ++word) {
    const CLI::Option* option = is_flag(*word) ? command->get_option_no_throw(*word) : nullptr;
    const std::string& next = *std::next(word);
    if (option == nullptr || option->get_expected_min() == 0 || !is_flag(next)) continue;
    const std::string type = option->get_type_name();
    const std::string place = fmt::format("{}: {}: expected {} after it, found", command->get_name(), *word, type);
    if (command->get_option_no_throw(next.substr(0, next.find('='))) != nullptr)
      return fmt::format("{} the flag {}", place, next.substr(0, next.find('=')));
    if (type.starts_with("FILE") || type == "DIR" || type == "PATH")
      return fmt::format("{} {}; a name that begins with - is written ./{}", place, next, next);
  }
  return {};
}

std::string stray_override(const CLI::App& command, std::vector<std::string> words) {
  if (command.get_option_no_throw("--set") == nullptr) return {};
  for (const CLI::Option* option : command.get_options())
    if (!option->nonpositional()) words.insert(words.begin(), option->results().begin(), option->results().end());
  for (const std::string& word : words)
    if (looks_like_override(word) && !path_exists(word))
      return fmt::format("{}: expected --set before each KEY=VALUE, as in: --set {}", word, shell_word(word));
  return {};
}

std::string unknown_command(const std::string& word, const std::vector<std::string>& commands) {
  const auto* const other = std::ranges::find(kOtherNames, word, &OtherName::name);
  const bool is_known = other != kOtherNames.end() && std::ranges::find(commands, other->command) != commands.end();
  const std::string meant = is_known ? did_you_mean(other->command) : nearest(word, commands);
  return fmt::format("unknown command {}{}", word.empty() ? "\"\"" : word,
                     meant.empty() ? fmt::format("; expected one of {}", fmt::join(commands, ", ")) : meant);
}

std::string usage_error(const CLI::App* app, const CLI::Error& error, const std::vector<std::string>& typed_words) {
  const std::vector<std::string> unknown = app->remaining(true);
  const auto is = [&error](CLI::ExitCodes code) { return error.get_exit_code() == static_cast<int>(code); };
  const bool is_missing = is(CLI::ExitCodes::RequiredError);
  std::string what;
  if ((is_missing || is(CLI::ExitCodes::ExtrasError)) && !unknown.empty())
    what = describe_unknown(app, unknown, typed_words);
  if (is_missing && what.empty()) what = describe_missing(*innermost(app));
  if (is(CLI::ExitCodes::ArgumentMismatch)) what = describe_count(*innermost(app), error.what());
  if (is(CLI::ExitCodes::ExcludesError) || is(CLI::ExitCodes::RequiresError)) what = describe_pair(error.what());
  if (what.empty()) what = error.what() + hint_at_resume(error.what());
  return "segue: " + name_after_first() + visible_line(what) + "; see --help\n";
}

}  // namespace segue

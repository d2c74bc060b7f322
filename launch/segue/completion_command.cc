// segue completion: scripts that complete commands, flags, the keys and words of choices, and file names elsewhere.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/choices.h"
#include "base/json_text.h"
#include "base/text.h"
#include "core/config/config.h"
#include "data_pipeline/tasks/task_spec.h"
#include "launch/segue/command_tree.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"

namespace segue {

namespace {

constexpr const char* kCompletionExamples =
    "Examples:\n"
    "  source <(segue completion bash)                          # in ~/.bashrc\n"
    "  segue completion zsh > ~/.zsh/completions/_segue         # a directory of $fpath";

enum class Shell : uint8_t { kBash, kZsh };
const auto& table_of(Shell /*shell*/) {
  static constexpr ChoiceTable<Shell, 2> kTable({{Shell::kBash, "bash"}, {Shell::kZsh, "zsh"}});
  return kTable;
}

struct CompletionOptions {
  Shell shell = Shell::kBash;

  void describe(JsonFields& fields) {
    fields.required("shell", shell, {.meaning = "shell that reads the script", .flag = {.is_positional = true}});
  }
};

using Visit = std::function<void(const CLI::App& command, const std::string& path)>;

// `path`: "" of the program, "bench step".
void visit_commands(const CLI::App& command, const std::string& path, const Visit& visit) {
  visit(command, path);
  for (const CLI::App* below : commands_of(command))
    visit_commands(*below, path.empty() ? below->get_name() : path + " " + below->get_name(), visit);
}

// What both shells say alike. `word` is a word before the one to complete; it may name a command.
std::string command_cases(const CLI::App& app, std::string_view word) {
  std::vector<std::string> steps;
  visit_commands(app, "", [&steps](const CLI::App& command, const std::string& path) {
    for (const std::string& name : names_of(commands_of(command)))
      steps.push_back(shell_word(fmt::format("{} {}", path, name)));
  });
  return fmt::format("    case \"$command {0}\" in\n      {1}) command=\"${{command:+$command }}{0}\" ;;\n    esac\n",
                     word, fmt::join(steps, "|"));
}

using Complete = std::function<std::string(const std::vector<std::string>& words)>;

// A case for every flag of a choice, in which `complete` says what to do with its words.
std::string choice_cases(const CLI::App& app, const Complete& complete) {
  std::string text;
  visit_commands(app, "", [&](const CLI::App& command, const std::string& path) {
    for (const CLI::Option* option : command.get_options()) {
      const std::vector<std::string> choices = choices_of_flag(*option);
      if (choices.empty()) continue;
      for (const std::string& flag : flags_of(*option))
        text += fmt::format("    {}) {} ;;\n", shell_word(fmt::format("{} {}", path, flag)), complete(choices));
    }
  });
  return text;
}

// Words that may stand where no flag is begun: commands, or a choice without a flag. None: file names.
std::vector<std::string> plain_words(const CLI::App& command) {
  std::vector<std::string> words = names_of(commands_of(command));
  if (command.get_name() == "help") words = names_of(commands_of(*command.get_parent()));
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    for (std::string& choice : choices_of_flag(*option)) words.push_back(std::move(choice));
  }
  return words;
}

// A key that --set takes, and the words that its value may be; none for values of other kinds.
struct SetKey {
  std::string name;
  std::vector<std::string> words;
};

std::vector<std::string> words_of_value(const OrderedJson& node) {
  if (node.contains("enum")) return node["enum"].get<std::vector<std::string>>();
  return node.value("type", "") == "boolean" ? std::vector<std::string>{"true", "false"} : std::vector<std::string>();
}

// Those that have a role in the schema alone, where one is named.
void add_keys(const OrderedJson& schema, const std::string& path, std::string_view role, std::vector<SetKey>& keys) {
  for (const auto& [key, node] : schema["properties"].items()) {
    if (key.starts_with('$')) continue;  // of editors
    const std::string name = path.empty() ? key : fmt::format("{}.{}", path, key);
    if (node.contains("properties")) {
      add_keys(node, name, role, keys);
    } else if (role.empty() || node.value("x-role", "") == role) {
      keys.push_back({name, words_of_value(node)});
    }
  }
}

// What --set takes, by the name of the script's variable.
std::vector<std::pair<std::string, std::vector<SetKey>>> lists_of_keys() {
  std::vector<SetKey> config;
  std::vector<SetKey> use;
  std::vector<SetKey> task;
  add_keys(config_schema(), "", "", config);
  add_keys(config_schema(), "", "use", use);
  add_keys(task_schema(), "", "", task);
  return {{"config_keys", config}, {"use_keys", use}, {"task_keys", task}};
}

std::string_view list_of_command(std::string_view path) {
  if (path == "eval" || path == "generate") return "use_keys";
  return path == "tasks" ? "task_keys" : "config_keys";
}

// "model.mem_len= model.n_layer=", as values follow.
std::string begun_values(const std::vector<SetKey>& keys) {
  std::string text;
  for (const SetKey& key : keys) text += fmt::format("{}{}=", text.empty() ? "" : " ", key.name);
  return text;
}

// A case for the flag --set of every command, in which `complete` says what to do with the keys in a variable.
std::string set_cases(const CLI::App& app, const std::function<std::string(std::string_view variable)>& complete) {
  std::string text;
  visit_commands(app, "", [&](const CLI::App& command, const std::string& path) {
    if (command.get_option_no_throw("--set") != nullptr)
      text += fmt::format("    {}) {} ;;\n", shell_word(path + " --set"), complete(list_of_command(path)));
  });
  return text;
}

// A case for every key whose value is one of some words.
std::string value_cases(const Complete& complete) {
  std::string text;
  std::set<std::string> known;
  for (const auto& [variable, keys] : lists_of_keys())
    for (const SetKey& key : keys)
      if (!key.words.empty() && known.insert(key.name).second)
        text += fmt::format("    {}) {} ;;\n", shell_word(key.name), complete(key.words));
  return text;
}

std::string bash_script(const CLI::App& app) {
  std::string text =
      "# Completion of segue for bash: source it.\n"
      "_segue() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' flags='' plain='' i\n"
      "  [[ $word == '=' ]] && word=''\n"
      "  [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n";
  text += command_cases(app, "${COMP_WORDS[i]}");
  text += "  done\n";
  for (const auto& [variable, keys] : lists_of_keys())
    text += fmt::format("  local {}='{}'\n", variable, begun_values(keys));
  const Complete complete = [](const std::vector<std::string>& words) {
    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\")); return", fmt::join(words, " "));
  };
  text += "  case \"$command $before\" in\n" + choice_cases(app, complete);
  text += set_cases(app, [](std::string_view variable) {
    return fmt::format(R"(COMPREPLY=($(compgen -W "${}" -- "$word")); compopt -o nospace 2> /dev/null; return)",
                       variable);
  });
  text += "  esac\n  case \"$before\" in\n" + value_cases(complete);
  text += "  esac\n  case \"$command\" in\n";
  visit_commands(app, "", [&text](const CLI::App& command, const std::string& path) {
    text += fmt::format("    '{}') flags='{}' plain='{}' ;;\n", path, fmt::join(flags_of(command), " "),
                        fmt::join(plain_words(command), " "));
  });
  text +=
      "  esac\n"
      "  [[ $word == -* ]] && plain=$flags\n"
      "  COMPREPLY=($(compgen -W \"$plain\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _segue segue\n";
  return text;
}

// "'--mem-len:Length of the memory'", as _describe reads it.
std::string described_word(const std::string& word, std::string meaning) {
  for (size_t colon = meaning.find(':'); colon != std::string::npos; colon = meaning.find(':', colon + 2))
    meaning.insert(colon, 1, '\\');
  return shell_word(meaning.empty() ? word : word + ":" + meaning);
}

std::string zsh_script(const CLI::App& app) {
  const Complete complete = [](const std::vector<std::string>& words) {
    return fmt::format("compadd -- {}; return", fmt::join(words, " "));
  };
  std::string text =
      "#compdef segue\n"
      "# Completion of segue for zsh: a file _segue in a directory of $fpath, or sourced after compinit.\n"
      "_segue_set() {\n"
      "  if ! compset -P '*='; then\n"
      "    compadd -S '=' -q -- \"${(@)argv%=}\"\n"
      "    return\n"
      "  fi\n"
      "  case \"${IPREFIX%=}\" in\n" +
      value_cases(complete) +
      "  esac\n"
      "}\n"
      "_segue() {\n"
      "  local command='' i\n"
      "  local -a flags plain\n"
      "  for ((i = 2; i < CURRENT; ++i)); do\n";
  text += command_cases(app, "${words[i]}");
  text += "  done\n";
  for (const auto& [variable, keys] : lists_of_keys())
    text += fmt::format("  local -a {}=({})\n", variable, begun_values(keys));
  text += "  case \"$command ${words[CURRENT - 1]}\" in\n" + choice_cases(app, complete);
  text += set_cases(
      app, [](std::string_view variable) { return fmt::format("_segue_set \"${{{}[@]}}\"; return", variable); });
  text += "  esac\n  case \"$command\" in\n";
  visit_commands(app, "", [&text](const CLI::App& command, const std::string& path) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : command.get_options())
      for (const std::string& flag : flags_of(*option))
        flags.push_back(described_word(flag, option->get_description()));
    std::vector<std::string> plain;
    for (const std::string& word : plain_words(command)) {
      const std::vector<const CLI::App*> below = commands_of(command);
      const auto named =
          std::find_if(below.begin(), below.end(), [&](const CLI::App* each) { return each->get_name() == word; });
      plain.push_back(described_word(word, named == below.end() ? "" : (*named)->get_description()));
    }
    text += fmt::format("    '{}')\n      flags=({})\n      plain=({})\n      ;;\n", path, fmt::join(flags, " "),
                        fmt::join(plain, " "));
  });
  text +=
      "  esac\n"
      "  if [[ ${words[CURRENT]} == -* ]]; then\n"
      "    _describe flag flags\n"
      "  elif ((${#plain})); then\n"
      "    _describe word plain\n"
      "  else\n"
      "    _files\n"
      "  fi\n"
      "}\n"
      "if [[ ${funcstack[1]} == _segue ]]; then _segue \"$@\"; else compdef _segue segue; fi\n";
  return text;
}

}  // namespace

void add_completion_command(CLI::App& app) {
  const auto print = [&app](const CLI::App& command) {
    CompletionOptions options;
    read_flags(command, options);
    fmt::print("{}", options.shell == Shell::kBash ? bash_script(app) : zsh_script(app));
  };
  add_command_reading<CompletionOptions>(app, "completion", "Print the script that makes a shell complete commands",
                                         kCompletionExamples, print);
}

}  // namespace segue

// segue reference: docs/reference.md, from what commands and configs say of themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "core/config/config.h"
#include "launch/segue/command_tree.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"

namespace segue {

namespace {

constexpr const char* kHead =
    "# Reference\n"
    "\n"
    "This page lists every command with its flags, and every key of a config. `segue reference` prints it. Do not\n"
    "edit it by hand: the descriptions stand in the program, where it reads the flag or key.\n"
    "\n"
    "## Commands\n";

constexpr const char* kKeys =
    "\n"
    "## Keys of a config\n"
    "\n"
    "`configs/segue.schema.json` describes the same keys for editors. `segue train CONFIG --set KEY=VALUE` replaces a\n"
    "value. The files of `segue eval --config` have the flags of `segue eval` as keys, with `_` for `-`.\n"
    "\n"
    "| key | value | default | meaning |\n"
    "|---|---|---|---|\n";

struct ReferenceOptions {
  void describe(JsonFields& /*fields*/) {}
};

// Bars would end the cell; what looks like HTML would not be shown.
std::string cell(std::string_view text) {
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins_tag =
        text[i] == '<' && i + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[i + 1])) != 0;
    if (text[i] == '|' || begins_tag) escaped += '\\';
    escaped += text[i];
  }
  return escaped;
}

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

std::string value_of(const CLI::Option& option) {
  const std::vector<std::string> choices = choices_of_flag(option);
  if (!choices.empty()) return fmt::format("`{}`", fmt::join(choices, "`, `"));
  if (option.get_expected_max() == 0) return "";
  const bool is_list = option.get_expected_max() > 1;
  return option.get_type_name() + (is_list ? " ..." : "");
}

std::string rows_of(const CLI::App& command) {
  std::string rows;
  for (const CLI::Option* option : command.get_options()) {
    if (option == command.get_help_ptr()) continue;
    const std::vector<std::string> flags = flags_of(*option);
    const std::string name = flags.empty() ? option->get_name() : fmt::format("`{}`", fmt::join(flags, "`, `"));
    rows += fmt::format("| {} | {} | {} | {} |\n", name, cell(value_of(*option)),
                        option->get_required() ? "required" : code(option->get_default_str()),
                        cell(option->get_description()));
  }
  return rows.empty() ? "" : "\n| flag | value | default | meaning |\n|---|---|---|---|\n" + rows;
}

std::string section_of(const CLI::App& command) {
  std::string text =
      fmt::format("\n### {}\n\n{}.\n{}", full_name(command), command.get_description(), rows_of(command));
  if (!command.get_footer().empty()) text += fmt::format("\n```\n{}\n```\n", command.get_footer());
  for (const CLI::App* below : commands_of(command)) text += section_of(*below);
  return text;
}

constexpr std::array<std::pair<const char*, const char*>, 4> kBounds{
    {{"minimum", ">="}, {"exclusiveMinimum", ">"}, {"maximum", "<="}, {"exclusiveMaximum", "<"}}};

// "integer, >= 0, <= 100"; the words of a choice.
std::string value_of(const OrderedJson& node) {
  if (node.contains("enum")) {
    std::vector<std::string> words;
    for (const OrderedJson& word : node["enum"]) words.push_back(code(word.get<std::string>()));
    return fmt::format("{}", fmt::join(words, ", "));
  }
  if (node.contains("items")) return fmt::format("list of: {}", value_of(node["items"]));
  std::string text = node.value("type", "any");
  for (const auto& [keyword, relation] : kBounds)
    if (node.contains(keyword)) text += fmt::format(", {} {}", relation, node[keyword].dump());
  return text;
}

std::string keys_of(const OrderedJson& schema, const std::string& path) {
  std::string rows;
  for (const auto& [key, node] : schema["properties"].items()) {
    const std::string name = join_json_path(path, key);
    if (node.contains("properties")) {
      rows += fmt::format("| **`{}`** | | | {} |\n", name, cell(node["description"].get<std::string>()));
      rows += keys_of(node, name);
      continue;
    }
    rows += fmt::format("| `{}` | {} | {} | {} |\n", name, cell(value_of(node)),
                        node.contains("default") ? code(node["default"].dump()) : "required",
                        cell(node["description"].get<std::string>()));
  }
  return rows;
}

}  // namespace

void add_reference_command(CLI::App& app) {
  const auto print = [&app](const CLI::App& /*command*/) {
    fmt::print("{}", kHead);
    for (const CLI::App* command : commands_of(app)) fmt::print("{}", section_of(*command));
    fmt::print("{}{}", kKeys, keys_of(config_schema(), ""));
  };
  add_command_reading<ReferenceOptions>(app, "reference", "Print every command, flag and key of a config as Markdown",
                                        "Example:\n  segue reference > docs/reference.md", print);
}

}  // namespace segue

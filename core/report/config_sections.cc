// What each run was told to do, where the runs differ, and the commands that do it again.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_fields.h"
#include "core/report/markup.h"
#include "core/report/sections.h"

namespace segue::report {

namespace {

using Flat = std::vector<std::pair<std::string, std::string>>;  // "model.mem_len", "128"; in the order of the config

void flatten(const OrderedJson& value, const std::string& path, Flat& flat) {
  if (!value.is_object()) {
    flat.emplace_back(path, value.is_string() ? value.get<std::string>() : value.dump());
    return;
  }
  for (const auto& [key, member] : value.items()) flatten(member, join_json_path(path, key), flat);
}

Flat flat_config(const RunData& run) {
  Flat flat;
  flatten(to_json(run.config), "", flat);
  return flat;
}

Table differences_of(const std::vector<RunData>& runs) {
  Table table{.head = {"key"}, .rows = {}};
  std::vector<Flat> configs;
  for (const RunData& run : runs) {
    table.head.push_back(run.name);
    configs.push_back(flat_config(run));
  }
  for (size_t key = 0; key < configs.front().size(); ++key) {
    const auto differs = [&](const Flat& config) { return config[key] != configs.front()[key]; };
    if (std::none_of(configs.begin(), configs.end(), differs)) continue;
    table.rows.push_back({configs.front()[key].first});
    for (const Flat& config : configs) table.rows.back().push_back(config[key].second);
  }
  return table;
}

// As one word of a shell.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string result = "'";
  for (const char letter : word) {
    if (letter == '\'') result += "'\\'";
    result += letter;
  }
  return result += '\'';
}

// Values of one setting over the results, each once: "0,64,128".
template <typename ValueOf>
std::string list_of(const Evaluation& evaluation, ValueOf value_of) {
  std::vector<int64_t> values;
  for (const EvaluatedLength& result : evaluation.results) {
    if (std::find(values.begin(), values.end(), value_of(result)) == values.end()) values.push_back(value_of(result));
  }
  return fmt::format("{}", fmt::join(values, ","));
}

std::string eval_command(const RunData& run, const Evaluation& evaluation) {
  std::string text =
      fmt::format("segue eval --checkpoint {} --data {} --split {}", quoted(run.path.string()),
                  quoted(evaluation.data.empty() ? run.config.data.path : evaluation.data), quoted(evaluation.split));
  if (evaluation.batch_size > 0) text += fmt::format(" --batch-size {}", evaluation.batch_size);
  if (!evaluation.warm_up.empty()) text += fmt::format(" --warm-up {}", quoted(evaluation.warm_up));
  if (!evaluation.results.empty()) {
    const EvaluatedLength& first = evaluation.results.front();
    text += " --tgt-len " + list_of(evaluation, [](const EvaluatedLength& result) { return result.tgt_len; });
    if (first.is_recomputed) {
      text += fmt::format(" --recompute --stride {}", first.stride);
    } else {
      text += " --mem-len " + list_of(evaluation, [](const EvaluatedLength& result) { return result.mem_len; });
    }
    if (first.clamp_len >= 0) text += fmt::format(" --clamp-len {}", first.clamp_len);
    if (first.same_length) text += " --same-length";
  }
  return text + fmt::format(" --name {}\n", quoted(evaluation.name));
}

std::string commands_of(const RunData& run) {
  std::string text = fmt::format("segue train {} --run {}\n", quoted((run.path / "config.json").string()),
                                 quoted(run.path.string() + "-again"));
  for (const Evaluation& evaluation : run.evaluations) text += eval_command(run, evaluation);
  return text;
}

std::string report_command(const ReportData& data) {
  std::string command = "segue report";
  for (const RunData& run : data.runs) command += fmt::format(" {}", quoted(run.path.string()));
  if (!data.effective_context_file.empty())
    command += fmt::format(" --effective-context {}", quoted(data.effective_context_file));
  return command + " --output report.html\n";
}

}  // namespace

void add_configs(Page& page, const ReportData& data) {
  page.section("configs", data.runs.size() == 1 ? "The config" : "Configs");
  if (data.runs.size() > 1) {
    const Table differences = differences_of(data.runs);
    if (differences.rows.empty()) {
      page.paragraph("The runs have the same config.");
    } else {
      page.paragraph("The keys in which the runs differ.");
      page.html(table_html(differences));
    }
  }
  for (const RunData& run : data.runs)
    page.details("Every key of " + run.name, "<pre>" + escaped(to_json(run.config).dump(2)) + "</pre>\n");
}

void add_commands(Page& page, const ReportData& data) {
  page.section("commands", "To make it again");
  std::string text;
  for (const RunData& run : data.runs) text += commands_of(run);
  text += report_command(data);
  page.html("<pre>" + escaped(text) + "</pre>\n");
}

}  // namespace segue::report

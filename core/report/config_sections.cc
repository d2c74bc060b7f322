// The settings of each run, where the runs differ, and the commands that repeat it.
#include <fmt/format.h>

#include <string_view>

#include "base/json_text.h"
#include "base/text.h"
#include "core/drawing/markup.h"
#include "core/report/sections.h"

namespace segue::report {

namespace {

Table differing_keys(const std::vector<RunData>& runs) {
  Table table{.head = {"key"}, .rows = {}};
  std::vector<Config> configs;
  for (const RunData& run : runs) {
    table.head.push_back(run.name);
    configs.push_back(run.config);
  }
  for (const ConfigDifference& difference : differences_of(configs)) {
    table.rows.push_back({difference.key});
    table.rows.back().insert(table.rows.back().end(), difference.values.begin(), difference.values.end());
  }
  return table;
}

// Where what is made again goes.
constexpr std::string_view kAgain = "-again";

// The command of an evaluation, on the run that is made again. Commands name the run as it was called then, or by its
// absolute path; one called otherwise stays as it is.
std::string evaluated_again(std::string command, const RunData& run) {
  constexpr std::string_view kFlag = " --checkpoint ";
  const size_t flag = command.find(kFlag);
  if (flag == std::string::npos) return command;
  size_t begin = flag + kFlag.size();
  if (command.compare(begin, 1, "'") == 0) ++begin;  // in quotes
  for (const std::string& path : {run.path.string(), std::filesystem::weakly_canonical(run.path).string()}) {
    const size_t end = begin + path.size();
    if (command.compare(begin, path.size(), path) == 0 &&
        (end == command.size() || std::string_view(" '/").find(command[end]) != std::string_view::npos))
      return command.insert(end, kAgain);
  }
  return command;
}

std::string commands_of(const RunData& run) {
  std::string text = fmt::format("segue train {} --run {}\n", shell_word((run.path / "config.json").string()),
                                 shell_word(fmt::format("{}{}", run.path.string(), kAgain)));
  for (const Evaluation& evaluation : run.evaluations) text += evaluated_again(evaluation.command, run) + "\n";
  return text;
}

std::string report_command(const ReportData& data) {
  std::string command = "# draw this page\nsegue report";
  for (const RunData& run : data.runs) command += fmt::format(" {}", shell_word(run.path.string()));
  if (!data.effective_context_file.empty())
    command += fmt::format(" --effective-context {}", shell_word(data.effective_context_file));
  if (!data.verdict_file.empty()) command += fmt::format(" --verdict {}", shell_word(data.verdict_file));
  return command + " --output report.html\n";
}

}  // namespace

void add_configs(Page& page, const ReportData& data) {
  page.section("configs", data.runs.size() == 1 ? "The config" : "Configs");
  if (data.runs.size() > 1) {
    const Table differences = differing_keys(data.runs);
    if (differences.rows.empty()) {
      page.paragraph("The runs have the same config.");
    } else {
      page.paragraph("The keys in which the runs differ.");
      page.html(table_html(differences));
    }
  }
  for (const RunData& run : data.runs)
    page.details("The config of " + run.name, "<pre>" + escaped(to_json(run.config).dump(2)) + "</pre>\n");
}

namespace {

Table sessions_of(const std::vector<RunData>& runs) {
  Table table{.head = {"run", "from step", "began", "program", "host", "ranks", "threads", "device"}, .rows = {}};
  for (const RunData& run : runs) {
    for (const MadeBy& made_by : run.sessions)
      table.rows.push_back({run.name, human_count(made_by.from_step), made_by.began, made_by.program, made_by.host,
                            human_count(made_by.ranks), human_count(made_by.threads), made_by.device});
  }
  return table;
}

}  // namespace

void add_commands(Page& page, const ReportData& data) {
  page.section("commands", "To make it again");
  std::string text = "# train and evaluate likewise\n";
  for (const RunData& run : data.runs) text += commands_of(run);
  text += report_command(data);
  page.html("<pre>" + escaped(text) + "</pre>\n");
  const Table sessions = sessions_of(data.runs);
  if (sessions.rows.empty()) return;
  page.paragraph("What made it.");
  page.html(table_html(sessions));
}

}  // namespace segue::report

// segue report
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/directory_content.h"
#include "base/error.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "core/report/report.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr const char* kReportExamples =
    "Examples:\n"
    "  segue report runs/books --output books.html      # one run, even while it trains\n"
    "  segue report runs/books runs/memoryless --output comparison.html --figures figures\n"
    "  segue report runs/a runs/b --effective-context effective_context.json --output context.html\n"
    "The page is one file without scripts. It shows what the runs' directories hold: config.json, metrics.jsonl and\n"
    "evaluations/*/evaluation.json, which segue eval writes. Losses of the same text are ranked, and drawn on\n"
    "one axis.";

struct ReportCommandOptions {
  std::vector<std::string> runs;
  std::string output = "report.html";
  std::string effective_context;
  std::string verdict;
  std::string figures;

  void describe(JsonFields& fields) {
    fields.optional("runs", runs,
                    {.meaning = "directories of runs; default: the run in runs, if there is only one",
                     .flag = {.value = "DIR", .is_positional = true}});
    fields.optional("output", output, {.meaning = "page to write", .flag = {.value = "FILE", .is_output = true}});
    fields.optional("effective_context", effective_context,
                    {.meaning = "result of segue effective-context for a group of models", .flag = {.value = "FILE"}});
    fields.optional("verdict", verdict,
                    {.meaning = "text to put first on the page, such as what a comparison of the runs found",
                     .flag = {.value = "FILE"}});
    describe_extensions(fields);
    fields.optional("figures", figures,
                    {.meaning = "directory to also write every plot to, as an SVG file of its own",
                     .flag = {.value = "DIR", .is_output = true}});
  }
};

constexpr const char* kRuns = "runs";  // where segue train puts them

// Those that were named, or the only one that there is.
std::vector<std::filesystem::path> runs_of(const ReportCommandOptions& options) {
  std::vector<std::filesystem::path> runs(options.runs.begin(), options.runs.end());
  if (!runs.empty()) return runs;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(kRuns, none))
    if (path_exists(entry.path() / "config.json")) runs.push_back(entry.path());
  if (runs.size() == 1) return runs;
  std::sort(runs.begin(), runs.end());
  std::string command = "segue report";
  for (const std::filesystem::path& run : runs) command += " " + shell_word(run.string());
  if (runs.empty()) throw UsageError("report: expected runs, as in: {} runs/book; found none in {}", command, kRuns);
  throw UsageError("report: expected the runs to show, of these: {}", command);
}

bool is_same_directory(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code none;
  return std::filesystem::equivalent(one, other, none);
}

void run_report(const ReportCommandOptions& options) {
  check_output_files({{"--output", options.output, OutputKind::kPage}});
  const auto is_sealed = [](DirectoryKind kind) {
    return kind == DirectoryKind::kDataset || kind == DirectoryKind::kCheckpoint;
  };
  if (!options.figures.empty() && std::ranges::any_of(kinds_in(options.figures), is_sealed))
    throw UsageError("{}: expected a directory for pictures, found that of {}; name another --figures", options.figures,
                     describe_content(options.figures));
  report::ReportOptions wanted{.runs = runs_of(options)};
  for (auto run = wanted.runs.begin(); run != wanted.runs.end(); ++run)
    if (std::any_of(wanted.runs.begin(), run, [&](const auto& other) { return is_same_directory(*run, other); }))
      throw UsageError("report: expected each run once, found {} again", run->string());
  if (!options.effective_context.empty()) wanted.effective_context = options.effective_context;
  if (!options.verdict.empty()) wanted.verdict = options.verdict;
  const report::Report made = report::make_report(wanted);
  if (!options.figures.empty()) {
    make_directories(options.figures);
    std::vector<OutputFile> outputs{{"--output", options.output, OutputKind::kPage}};
    for (const report::DrawnFile& drawing : made.drawings)
      outputs.push_back({"--figures", std::filesystem::path(options.figures) / drawing.name, OutputKind::kPicture});
    check_output_files(outputs);
  }
  write_file_atomically(options.output, made.html);
  fmt::print("{}\n", options.output);
  if (options.figures.empty()) return;
  for (const report::DrawnFile& drawing : made.drawings) {
    const std::filesystem::path path = std::filesystem::path(options.figures) / drawing.name;
    write_file_atomically(path, drawing.svg);
    fmt::print("{}\n", path.string());
  }
}

}  // namespace

void add_report_command(CLI::App& app) {
  add_command(app, "report", "Write a page that shows and compares runs", kReportExamples, run_report);
}

}  // namespace segue

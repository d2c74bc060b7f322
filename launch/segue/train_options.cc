#include "launch/segue/train_options.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "launch/segue/options.h"

namespace segue {

void TrainOptions::describe(JsonFields& fields) {
  fields.optional("config", config,
                  {.meaning = "config file, or with --resume the directory of a run",
                   .flag = {.value = "FILE", .is_positional = true}});
  fields.optional(
      "run", run,
      {.meaning = "directory of the run; default: runs/NAME-OF-CONFIG", .flag = {.value = "DIR", .is_output = true}});
  describe_overrides(fields, overrides);
  fields.optional("resume", resume, {.meaning = "continue from the run's newest intact checkpoint"});
  fields.optional("quiet", quiet, {.meaning = "print only warnings and errors", .flag = {.alias = "-q"}});
  fields.optional("dry_run", dry_run,
                  {.meaning = "train nothing: print what every rank would hold and what a step would send, or why "
                              "training would not start"});
  fields.optional("ranks", ranks,
                  {.meaning = "with --dry-run, plan for this many ranks; default: the ranks of the job", .minimum = 1});
}

namespace {

bool is_run(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) && path_exists(path / "config.json");
}

}  // namespace

std::string resuming_command(const std::filesystem::path& run) {
  return fmt::format("segue train --run {} --resume", shell_word(run.string()));
}

TrainOptions understood(TrainOptions options) {
  if (options.config.empty()) return options;
  const std::optional<std::filesystem::path> around = run_around(options.config);
  if (options.resume && around && options.run.empty())
    throw UsageError("--resume {}: expected a run, found {}{}", shell_word(options.config),
                     describe_path(options.config), did_you_mean("--resume " + shell_word(around->string())));
  if (around && std::filesystem::is_directory(options.config))
    throw UsageError("{}: expected a config file, found {}; continue its run with: {}", options.config,
                     describe_path(options.config), resuming_command(*around));
  if (options.resume && std::filesystem::is_directory(options.config) && !is_run(options.config))
    throw UsageError("--resume {}: expected a run, found {}", options.config, describe_path(options.config));
  if (!is_run(options.config)) return options;
  if (!options.resume)
    throw UsageError("{}: expected a config file, found a run; continue it with: {}", options.config,
                     resuming_command(options.config));
  std::error_code missing;
  if (!options.run.empty() && !std::filesystem::equivalent(options.run, options.config, missing))
    throw UsageError("--resume {} and --run {}: expected one of them", options.config, options.run);
  options.run = std::exchange(options.config, "");
  return options;
}

std::filesystem::path run_path(const TrainOptions& options) {
  if (!options.run.empty()) return options.run;
  if (options.config.empty()) throw UsageError("name a config, or a run with --run DIR --resume");
  return std::filesystem::path("runs") / std::filesystem::path(options.config).stem();
}

}  // namespace segue

#include "core/report/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace segue::report {

namespace {

std::string lengths_up_to(int64_t trained) {
  if (trained == 0) return "0,64,128";
  return trained < 4 ? fmt::format("0,{}", trained) : fmt::format("0,{},{},{}", trained / 4, trained / 2, trained);
}

int64_t files_of(const Evaluation& evaluation) {
  return std::ranges::count_if(evaluation.results,
                               [](const EvaluatedLength& result) { return !result.per_token.empty(); });
}

// The names of the files that hold the losses of a run by token.
std::string losses_of(const RunData& run) {
  const auto most = std::ranges::max_element(run.evaluations, {}, files_of);
  const std::filesystem::path directory = run.path / "evaluations";
  if (most == run.evaluations.end() || files_of(*most) < 2)
    return " " + shell_word((directory / "memory").string()) + "/losses-*.h5";
  std::string words;
  for (const EvaluatedLength& result : most->results)
    if (!result.per_token.empty()) words += " " + shell_word((directory / most->name / result.per_token).string());
  return words;
}

}  // namespace

std::string training_command(const RunData& run) {
  return fmt::format("segue train --run {} --resume", shell_word(run.path.string()));
}

std::string evaluation_command(const RunData& run, const std::string& options) {
  return fmt::format("segue eval --checkpoint {} --mem-len {} {}", shell_word(run.path.string()),
                     lengths_up_to(run.config.model.mem_len), options);
}

std::string effective_context_command(const std::vector<RunData>& runs) {
  std::string command = "segue effective-context";
  for (const RunData& run : runs) command += fmt::format(" --model {}{}", shell_word(run.name), losses_of(run));
  return command + " --output effective_context.json";
}

}  // namespace segue::report

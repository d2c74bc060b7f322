// The program: subcommands, one catch for every error, one exit code per kind of error.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "distributed/launched_tasks.h"
#include "launch/segue/commands.h"
#include "launch/segue/help_format.h"
#include "launch/segue/process_start.h"
#include "launch/segue/shared_processors.h"
#include "launch/segue/usage_error.h"
#include "launch/segue/version.h"

namespace {

constexpr const char* kMainExamples =
    "Examples:\n"
    "  segue prepare --input book.txt --split 0.9,0.05,0.05 --output data/book\n"
    "  segue train configs/quickstart.json --set data.path=data/book --run runs/book\n"
    "  segue eval --checkpoint runs/book --data data/book --split test --mem-len 512\n"
    "  segue generate --checkpoint runs/book --prompt 'It was'\n"
    "  segue inspect runs/book\n"
    "Each command explains itself: segue help COMMAND";

int report(const char* message, segue::ExitCode code) {
  const std::string line = segue::name_after_first() + segue::visible_line(message);
  static_cast<void>(std::fprintf(stderr, "segue: %s\n", line.c_str()));
  return static_cast<int>(code);
}

int run(int argc, char** argv) {
  CLI::App app("Segue trains and evaluates language models that carry memory from segment to segment.", "segue");
  app.formatter(std::make_shared<segue::HelpFormat>());
  app.footer(kMainExamples);
  app.set_version_flag("--version", segue::program_version());
  app.require_subcommand(1);
  app.failure_message(
      [typed = std::vector<std::string>(argv + 1, argv + argc)](const CLI::App* given, const CLI::Error& error) {
        return segue::usage_error(given, error, typed);
      });
  segue::add_prepare_command(app);
  segue::add_tasks_command(app);
  segue::add_train_command(app);
  segue::add_eval_command(app);
  segue::add_effective_context_command(app);
  segue::add_paired_difference_command(app);
  segue::add_generate_command(app);
  segue::add_inspect_command(app);
  segue::add_import_command(app);
  segue::add_export_command(app);
  segue::add_bench_command(app);
  segue::add_report_command(app);
  segue::add_compare_command(app);
  segue::add_schema_command(app);
  segue::add_reference_command(app);
  segue::add_completion_command(app);
  segue::add_help_command(app);
  const std::string forgotten = segue::forgotten_value(app, {argv + 1, argv + argc});
  if (!forgotten.empty()) throw segue::UsageError("{}; see --help", forgotten);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return static_cast<int>(segue::ExitCode::kUsage);
  }
  return static_cast<int>(segue::ExitCode::kSuccess);
}

// Runs, and says when not all that was printed has arrived: a full disk takes it without a word, or once a buffer is
// full.
int run_and_print(int argc, char** argv) {
  const auto refuse = [] { throw segue::FileError("standard output: cannot write all of it"); };
  int code = 0;
  try {
    code = run(argc, argv);
  } catch (const std::system_error&) {
    if (std::ferror(stdout) != 0) refuse();
    throw;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) refuse();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  segue::open_standard_streams();
  segue::fail_beyond_file_limit();
  try {
    segue::check_threads_variable();
    segue::wait_briefly(argv);
    segue::choose_threads();
    return segue::with_typed_errors([=] { return run_and_print(argc, argv); });
  } catch (const segue::InterruptedError& stopped) {
    return static_cast<int>(stopped.code());  // the first rank has said it for all
  } catch (const segue::Error& error) {
    return report(error.what(), error.code());
  }
}

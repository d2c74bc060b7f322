// The subcommands of `segue`. Each adds itself to the program with its options, help and examples, and runs when
// chosen. They throw the errors of segue/error.h.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}  // namespace CLI

namespace segue {

void add_prepare_command(CLI::App& app);
void add_tasks_command(CLI::App& app);
void add_train_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_effective_context_command(CLI::App& app);
void add_paired_difference_command(CLI::App& app);
void add_generate_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_import_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_schema_command(CLI::App& app);
void add_reference_command(CLI::App& app);
void add_completion_command(CLI::App& app);
void add_help_command(CLI::App& app);

}  // namespace segue

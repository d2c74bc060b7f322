// segue paired-difference
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "core/evaluation/paired_difference.h"
#include "launch/segue/commands.h"

namespace segue {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  segue eval --checkpoint runs/xl --data data/books --mem-len 0,128 --warm-up auto --per-token --name memory\n"
    "  segue eval --checkpoint runs/memoryless --data data/books --mem-len 0,128 --warm-up auto --per-token --name "
    "memory\n"
    "  segue paired-difference runs/{xl,memoryless}/evaluations/memory/losses-mem-{128,0}.h5 --output memory.json\n"
    "Files are those of segue eval --per-token, or of any program (HDF5: nll [n] in nats, NaN where a token was not\n"
    "scored, targets [n]). All must score the same tokens. The intervals are of the text: what another seed would "
    "have\n"
    "trained is not in them; train several and compare those.";

struct Options {
  std::vector<std::string> files;
  std::string output;
  std::string csv;
};

void run(const Options& options) {
  const OrderedJson comparison = paired_differences({options.files.begin(), options.files.end()});
  if (!options.output.empty()) write_file_atomically(options.output, format_json(comparison));
  if (!options.csv.empty()) write_file_atomically(options.csv, paired_differences_csv(comparison));
  fmt::print("{}", describe_paired_differences(comparison));
}

}  // namespace

void add_paired_difference_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "paired-difference", "Whether evaluations of the same tokens differ, with 95 % intervals of every pair");
  command->footer(kExamples);
  command->add_option("files", options->files, "Files of losses, two or more")->required();
  command->add_option("--output", options->output, "Write the result here as JSON");
  command->add_option("--csv", options->csv, "Write it here as CSV: a line for every evaluation and every pair");
  command->callback([options] { run(*options); });
}

}  // namespace segue

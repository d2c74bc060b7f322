// segue paired-difference
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "base/output_file.h"
#include "core/evaluation/paired_difference.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"

namespace segue {

namespace {

constexpr const char* kPairedDifferenceExamples =
    "Examples:\n"
    "  segue eval --checkpoint runs/xl --data data/books --mem-len 0,128 --warm-up auto --per-token --name memory\n"
    "  segue eval --checkpoint runs/memoryless --data data/books --mem-len 0,128 --warm-up auto --per-token --name "
    "memory\n"
    "  segue paired-difference runs/{xl,memoryless}/evaluations/memory/losses-mem-{128,0}.h5 --output memory.json\n"
    "Files are those of segue eval --per-token, or of any program (HDF5: nll [n] in nats, NaN where a token was not\n"
    "scored, targets [n]). All must score the same tokens. The intervals cover the choice of text, but not of the\n"
    "seed. Train with several seeds and compare those too.";

struct Options {
  std::vector<std::string> files;
  std::string output;
  std::string csv;

  void describe(JsonFields& fields) {
    fields.required("files", files,
                    {.meaning = "files of losses, two or more", .flag = {.value = "FILE", .is_positional = true}});
    fields.optional("output", output,
                    {.meaning = "write the result here as JSON", .flag = {.value = "FILE", .is_output = true}});
    fields.optional("csv", csv,
                    {.meaning = "write it here as CSV, with a line for every evaluation and every pair",
                     .flag = {.value = "FILE", .is_output = true}});
  }
};

void run(const Options& options) {
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  check_output_files(
      {{"--output", options.output, OutputKind::kPairedDifference}, {"--csv", options.csv, OutputKind::kPairedCsv}},
      files);
  const OrderedJson comparison = paired_differences(files);
  if (!options.output.empty()) write_file_atomically(options.output, format_json(comparison));
  if (!options.csv.empty()) write_file_atomically(options.csv, paired_differences_csv(comparison));
  fmt::print("{}", describe_paired_differences(comparison));
}

}  // namespace

void add_paired_difference_command(CLI::App& app) {
  add_command(app, "paired-difference",
              "Tell whether evaluations of the same tokens differ, with a 95 % interval for every pair",
              kPairedDifferenceExamples, run);
}

}  // namespace segue

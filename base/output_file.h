// Where a command may write a file: what another command or a person made is never replaced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace segue {

// What is written, and so what may be replaced by it.
enum class OutputKind : uint8_t {
  kGeneration,        // segue generate --json
  kBenchmark,         // segue bench --json
  kPairedDifference,  // segue paired-difference --output
  kPairedCsv,         // and --csv
  kEffectiveContext,  // segue effective-context --output
  kModelArguments,    // segue export --args
  kExportedWeights,   // segue export --output
  kPage,              // segue report --output
  kPicture,           // segue report --figures, segue inspect --mask
};

inline constexpr std::string_view kCsvOfPairs = "first,second,tokens,loss,";  // how the head of kPairedCsv begins
inline constexpr std::string_view kExportedBy = "segue export";               // the metadata "program" of weights

struct OutputFile {
  std::string flag;
  std::filesystem::path path;  // empty: not asked for
  OutputKind kind;
};

// Of all files that a command is to write, before it computes anything. Throws UsageError, naming the flag, where
// - something of another kind stands, such as a config, a text, or a file of a run, a dataset or a checkpoint,
// - two are the same file,
// - one is a file that the command reads: one of `inputs`.
// Throws FileError where a file could not be written. Changes nothing.
void check_output_files(const std::vector<OutputFile>& outputs, const std::vector<std::filesystem::path>& inputs = {});

// Of the name of an output, a file or a directory: "; ..." with what to write instead where it is -, a web address or
// blank, or begins with ~, which no shell has replaced. Empty where it is a name.
std::string mistake_in_output_name(std::string_view name);

}  // namespace segue

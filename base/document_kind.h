// What a JSON file is, told by its keys, so that one that another command reads is called by its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_text.h"

namespace segue {

enum class DocumentKind : uint8_t {
  kUnknown,
  kTrainingConfig,
  kComparison,
  kTask,
  kEvaluationSettings,
  kEvaluation,  // its result
  kPairedDifference,
  kEffectiveContext,
  kComparisonResult,
  kInspection,
  kGeneration,
  kBenchmark,
  kModelArguments,  // of the authors' programs
  kDataset,         // its manifest
  kCheckpoint,      // likewise
  kTransformersConfig,
  kTokenizer,
};

DocumentKind kind_of(const Json& document);

// Refuses, naming `source`, what is known to be of another kind than `expected`: "expected a task, found a training
// config, which segue train reads".
void check_document_kind(const Json& document, std::string_view source, DocumentKind expected, RaiseError raise);
template <typename Error>
void check_document_kind(const Json& document, std::string_view source, DocumentKind expected) {
  check_document_kind(document, source, expected, &raise_as<Error>);
}

// Refuses, naming `source`, a document whose "version" is above the one that this program reads: a newer program wrote
// it, which damages nothing.
void check_not_newer(const Json& document, std::string_view source, int64_t read_version, RaiseError raise);

// The dataset, checkpoint or run that a file is a part of; nothing where it is none.
struct Whole {
  std::string_view kind;  // "a checkpoint"
  std::filesystem::path directory;
};
std::optional<Whole> whole_of_file(const std::filesystem::path& path);

// Of a file; unknown for what cannot be read or is no JSON.
DocumentKind kind_of_file(const std::filesystem::path& path);

inline constexpr std::string_view kHdf5File = "an HDF5 file";

// What is at a path, for errors that expected something else: "a dataset, which segue train (data.path) and segue eval
// (--data) read", "text, which segue prepare reads", "a directory of runs, such as runs/book", "a file of a checkpoint,
// whose directory is runs/book/checkpoints/best"; "" where nothing is. Reads no more than a file of JSON.
std::string describe_path(const std::filesystem::path& path);

// The text of the JSON file at `path`, of at most so many bytes. What is plainly none, a directory, text or another
// format, is refused as what it is: "expected a training config, found text, which segue prepare reads". Throws
// FileError where it cannot be read.
inline constexpr int64_t kLargestDocument = int64_t{1} << 30;
std::string read_document(const std::filesystem::path& path, DocumentKind expected, int64_t most_bytes,
                          RaiseError raise);
template <typename Error>
std::string read_document(const std::filesystem::path& path, DocumentKind expected,
                          int64_t most_bytes = kLargestDocument) {
  return read_document(path, expected, most_bytes, &raise_as<Error>);
}

}  // namespace segue

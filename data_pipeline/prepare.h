// From text or ready-made tokens to a dataset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "data_pipeline/token_type.h"

namespace segue {

// kText: one token per byte. The others: raw little-endian tokens without a header.
enum class SourceFormat : uint8_t { kText, kUInt16, kUInt32 };

TokenType token_type_of(SourceFormat format);

struct PrepareOptions {
  std::filesystem::path output = {};

  // The splits as files of their own (`train` at least)...
  std::vector<std::filesystem::path> train = {};
  std::vector<std::filesystem::path> valid = {};
  std::vector<std::filesystem::path> test = {};
  // ...or all files one after the other, cut into train, valid and test in these shares.
  std::vector<std::filesystem::path> input = {};
  std::vector<double> fractions{0.9, 0.05, 0.05};

  SourceFormat format = SourceFormat::kText;
  std::optional<int64_t> vocabulary = {};  // of ready-made tokens; absent: the largest token found, plus 1
  std::optional<int64_t> separator = {};   // token put between two files

  int compression = 0;                       // deflate level, 0: none
  int64_t shard_tokens = int64_t{64} << 20;  // at most so many in a shard; one shard is held in memory
  bool force = false;                        // replace an existing dataset
  bool quiet = false;                        // no progress
  std::string command = {};                  // for the manifest
};

// Writes the dataset `output`, or throws and leaves nothing: UsageError for options that contradict each other,
// DataError for a source that is missing, empty, cut off inside a token, changing, or outside the vocabulary, FileError
// when the disk refuses. Memory does not depend on the size of the sources.
void prepare(const PrepareOptions& options, Logger& logger);

}  // namespace segue

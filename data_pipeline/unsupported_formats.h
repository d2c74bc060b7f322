// Recognises files that `segue prepare` cannot read, names their format, and says what to do with them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "data_pipeline/byte_stream.h"

namespace segue {

// What may be in a file, as far as --format says it.
enum class Expected : uint8_t { kText, kTokens, kEither };

// What goes into the commands for a shell that make text of a file.
struct Recipe {
  std::string file = {};                         // its name; empty: none, as of standard input
  Compression compression = Compression::kNone;  // which the command undoes first
  std::string reader =
      std::string(kPrepareReader);  // the command that takes the text from a pipe; empty: there is none
};

// "a Parquet file: write its texts with ..."; empty for what may be read. Judged by the first bytes alone.
std::string unsupported_format_of(std::string_view beginning, Expected expected, const Recipe& recipe);

// Likewise for a directory: "a dataset of Hugging Face: ...".
std::string unsupported_directory_of(const std::filesystem::path& directory);

// Whether more of these bytes are control characters than text has.
bool looks_binary(std::string_view beginning);

}  // namespace segue

// Recognises files that `segue prepare` cannot read, names their format, and says what to do with them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace segue {

// What may be in a file, as far as --format says it.
enum class Expected : uint8_t { kText, kTokens, kEither };

// "a Parquet file: write its texts with ..."; empty for what may be read. Judged by the first bytes alone. A command
// for the shell takes the file `name`.
std::string unsupported_format_of(std::string_view beginning, Expected expected, const std::string& name);

// Likewise for a directory: "a dataset of Hugging Face: ...".
std::string unsupported_directory_of(const std::filesystem::path& directory);

// Whether more of these bytes are control characters than text has.
bool looks_binary(std::string_view beginning);

}  // namespace segue

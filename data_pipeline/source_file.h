// A source of `prepare`: what it looks like, how it is wrapped, and how much text or how many tokens are in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data_pipeline/byte_stream.h"
#include "data_pipeline/prepare.h"

namespace segue {

// Stands for standard input among the sources.
constexpr std::string_view kStandardInput = "-";

struct SourceFile {
  std::filesystem::path path;     // as it was given
  std::filesystem::path content;  // where it lies: another path for standard input, which can be read only once
  int64_t file_bytes = 0;
  int64_t bytes = 0;  // of the text or the tokens in it
  Compression compression = Compression::kNone;
  int64_t skipped = 0;  // bytes before the text: a byte order mark
  std::string field = {};
  std::optional<char> separator = {};  // between the documents of one file
  std::string checksum = {};           // of the file, where what is read is not just its bytes
};

// Reads what is wrapped once, to know its size; copies standard input into `directory`. Throws DataError for a source
// that is missing, no regular file, empty, damaged, cut off inside a token, or looks like what it should not be.
SourceFile inspect_source(const std::filesystem::path& path, const PrepareOptions& options,
                          const std::filesystem::path& directory);

// The text or the tokens in it. `document_seen` hears of every document of lines of JSON.
std::unique_ptr<ByteStream> open_source(const SourceFile& file,
                                        std::function<void(std::string_view document)> document_seen = nullptr);

}  // namespace segue

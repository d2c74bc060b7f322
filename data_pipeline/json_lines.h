// Reads one field of each line of JSON: text, or a list of tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data_pipeline/byte_stream.h"
#include "data_pipeline/token_type.h"

namespace segue {

// Hears of the texts in lines of JSON.
struct DocumentListener {
  std::function<void(std::string_view document)> seen = nullptr;  // each as it stands in the file
  std::function<void(size_t bytes)> ended = nullptr;  // one ends behind so many bytes of the call of read() in progress
};

// The fields are lists of tokens.
struct JsonIds {
  TokenType type{};   // of the stream
  int64_t limit = 0;  // they are from 0 to below it
};

// Lines that are not empty, and those of them that lack the field or have null in it.
struct JsonLineCounts {
  int64_t lines = 0;
  int64_t skipped = 0;
};

struct JsonLineOptions {
  std::string field;  // a path (json_field.h)
  // Between two documents, of text and of lists; absent: each text ends with a line feed, lists follow one another.
  std::optional<std::string> text_separator = {};
  std::optional<int64_t> token_separator = {};
  std::optional<JsonIds> ids = {};  // absent: the fields are text
  DocumentListener listener = {};
  JsonLineCounts* counts = nullptr;  // of what has been read, where they are wanted
};

// Where a field is in no line among the first so many, nobody reads on.
constexpr int64_t kLinesWithoutField = 1000;

// The documents of `lines`, one behind the other; `name` is the file's for messages. Empty lines and documents count
// for nothing; lines without the field are left out. Throws DataError naming the file for fewer than half of the lines
// with the field, naming file and line for what is no object, for a field of another type, for tokens outside the
// limits, and for lines above 64 MiB.
std::unique_ptr<ByteStream> make_json_line_stream(std::unique_ptr<ByteStream> lines, const JsonLineOptions& options,
                                                  const std::string& name);

}  // namespace segue

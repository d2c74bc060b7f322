// One field of each line of JSON: text, or a list of tokens.
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

// The fields are lists of tokens.
struct JsonIds {
  TokenType type{};   // of the stream
  int64_t limit = 0;  // they are from 0 to below it
};

struct JsonLineOptions {
  std::string field;
  std::optional<int64_t> separator = {};  // between two documents; absent: each text ends with a line feed
  std::optional<JsonIds> ids = {};        // absent: the fields are text
  std::function<void(std::string_view document)> seen = nullptr;  // called with each text as it stands in the file
};

// The documents of `lines`, one behind the other; `name` is the file's for messages. Empty lines and documents count
// for nothing. Throws DataError naming file and line for what is no object with such a field, for tokens outside the
// limits, and for lines above 64 MiB.
std::unique_ptr<ByteStream> make_json_line_stream(std::unique_ptr<ByteStream> lines, const JsonLineOptions& options,
                                                  const std::string& name);

}  // namespace segue

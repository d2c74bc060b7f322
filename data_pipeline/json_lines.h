// One text field of each line of JSON, as text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data_pipeline/byte_stream.h"

namespace segue {

struct JsonLineOptions {
  std::string field;
  std::optional<char> separator = {};  // between two documents; absent: each one ends with a line feed
  std::function<void(std::string_view document)> seen = nullptr;  // called with each as it stands in the file
};

// The documents of `lines`, one behind the other; `name` is the file's for messages. Empty lines and documents count
// for nothing. Throws DataError naming file and line for what is no object with such a field, and for lines above 64
// MiB.
std::unique_ptr<ByteStream> make_json_line_stream(std::unique_ptr<ByteStream> lines, const JsonLineOptions& options,
                                                  const std::string& name);

}  // namespace segue

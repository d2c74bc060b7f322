// The kind of a source, judged by its first bytes: file names are not trusted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "data_pipeline/byte_stream.h"

namespace segue {

// As many of a source's first bytes as these functions look at.
constexpr size_t kBeginningBytes = size_t{64} << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of UTF-8

Compression compression_of(std::string_view beginning);

// "a Parquet file", and what can be done about it; empty for what may be text, or tokens where `text` is false.
std::string foreign_format_of(std::string_view beginning, bool text);

// "JSON lines with the text fields ...", as the first line has them; empty for other text.
std::string json_lines_of(std::string_view beginning);

// What errors advise for what is not read as text; empty: nothing.
struct TextAdvice {
  std::string_view json_lines = {};  // what takes a field of them
  std::string_view as_is = {};       // what takes any bytes
};

// Throws DataError for text, which messages call `name`, that begins like another format, or like lines of JSON unless
// these are meant.
void check_text_look(std::string_view beginning, const std::string& name, bool is_json_lines, const TextAdvice& advice);

}  // namespace segue

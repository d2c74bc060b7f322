// Detects the format of a source from its first bytes. File names are not trusted.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "data_pipeline/byte_stream.h"
#include "data_pipeline/encoding_warnings.h"
#include "data_pipeline/unsupported_formats.h"

namespace segue {

// As many of a source's first bytes as these functions look at.
constexpr size_t kBeginningBytes = size_t{64} << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of UTF-8

Compression compression_of(std::string_view beginning);

// "UTF-16 ...", of text in two or four bytes a character without a mark, or "raw tokens ..." where such numbers are
// none; empty for anything else.
std::string wide_text_of(std::string_view beginning);

// "JSON lines with the fields ...", as the first line has them, or another form of JSON that holds records; empty for
// other text.
std::string json_records_of(std::string_view beginning);

// Of plain text, or of such as is read though it holds more than its words.
TextLook look_of_text(std::string_view beginning);

// Throws DataError, naming the file, where lines of JSON are expected and the first is none.
void check_json_lines(std::string_view beginning, const std::string& name);

// Whether the first line of JSON that has this field (a path, json_field.h) has a list in it, and no text.
bool is_list_in_lines(std::string_view beginning, const std::string& field);

// "a file of a dataset, whose directory is data/books; segue train reads that", of a file that is no text and a part of
// what Segue has written; "" of others.
std::string part_of_whole(const std::filesystem::path& file, std::string_view beginning);

// Throws DataError for what is read as text alone, and which messages call `name`, where it begins like another format
// or like lines of JSON, or like no text. `as_is_flag` takes any bytes; empty: there is none.
void check_plain_text(std::string_view beginning, const std::string& name, const std::string& as_is_flag,
                      const Recipe& recipe);

}  // namespace segue

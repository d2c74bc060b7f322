// Reads a whole text: a prompt, a text to be scored, a list of words. It treats the text as `segue prepare` treats its
// sources: a byte order mark is left out, compressed text is decompressed, what is no text is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "data_pipeline/byte_stream.h"
#include "data_pipeline/encoding_warnings.h"

namespace segue {

constexpr int64_t kLargestText = int64_t{256} << 20;  // bytes

struct TextReading {
  bool as_is = false;           // whatever it looks like, without decompressing or leaving out anything
  std::string as_is_flag = {};  // that says so, for advice; empty: there is none
  std::string reader = {};      // a command that reads such a text from a pipe, for advice; empty: there is none
};

struct FileText {
  std::string text;
  int64_t skipped = 0;     // bytes before the text in the file: a byte order mark
  EncodingWarnings signs;  // of another encoding or system
};

// Reads `path`, or standard input where it is "-" and there is a `reader`. Throws FileError, and DataError for a text
// that is damaged, longer than kLargestText or looks like what is no text. An empty text is one.
FileText read_text_file(const std::filesystem::path& path, const TextReading& reading);

// The same of the bytes of a file, which messages call `name`.
FileText read_text(std::unique_ptr<ByteStream> bytes, const std::string& name, const TextReading& reading);

}  // namespace segue

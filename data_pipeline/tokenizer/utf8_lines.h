// Lines of UTF-8 text that comes in pieces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace segue {

struct TextLine {
  std::string_view text;  // without the line feed
  int64_t offset = 0;     // in the file
  bool ended = false;     // by a line feed; otherwise by the file's end or because it is long
};

// Cuts at line feeds, and lines longer than kLongestLine before a character.
class Utf8Lines {
 public:
  static constexpr int64_t kLongestLine = 65536;

  void begin_file(const std::string& file, int64_t offset);
  // The lines that `text` completes, valid until the next call. Throws DataError naming file and byte for what is not
  // UTF-8.
  const std::vector<TextLine>& append(std::string_view text);
  const std::vector<TextLine>& end_file();  // the last line, when it has no line feed

 private:
  void take_line(std::string_view text, bool ended);
  void take_long_lines(std::string_view& text);

  std::string file_;
  std::string block_;    // holds the text of lines_
  std::string pending_;  // the line that the last piece ended in
  int64_t offset_ = 0;   // behind the last line
  std::vector<TextLine> lines_;
};

// The first byte that does not belong to a character, or the length of the text.
size_t valid_utf8_bytes(std::string_view text);

}  // namespace segue

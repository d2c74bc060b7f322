// Lines and words of text that comes in pieces, as Python's text mode and str.split() find them.
//
// A line ends at "\n", "\r\n" or "\r"; a last line without an end counts when it holds a byte. White space is what
// Unicode calls so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace segue {

// Bytes of the white space or end of line at the beginning of `text`; 0 when a word continues there, also when the text
// ends inside what may become white space.
size_t white_space_at(std::string_view text);
bool has_white_space(std::string_view text);

class WordScanner {
 public:
  static constexpr int64_t kLongestWord = 65536;  // what is longer is no text

  class Visitor {
   public:
    virtual ~Visitor() = default;
    // `offset` of its first byte in the file. The word stays where it is until append() or end_file() is called again.
    virtual void word(std::string_view word, int64_t offset) = 0;
    virtual void end_line(int64_t offset) = 0;  // of what ends it, or of the file's end
  };

  // append() and end_file() throw DataError naming file and byte for a word that is longer than kLongestWord, and for
  // what is not UTF-8.
  void begin_file(const std::string& file, int64_t offset);
  void append(std::string_view text, Visitor& visitor);
  void end_file(Visitor& visitor);

 private:
  struct Beginning {
    std::string_view word;  // may be empty
    size_t space = 0;       // bytes behind it; 0: none
    bool is_ascii = false;
  };
  static Beginning beginning_of(std::string_view text);
  void give_word(const Beginning& beginning, Visitor& visitor) const;
  void end_line_at(char byte, int64_t offset, Visitor& visitor);

  std::string file_;
  std::string pending_;         // the word that the last piece ended in
  std::string joined_;          // what was pending, and the piece behind it
  int64_t offset_ = 0;          // of pending_ in the file
  int64_t line_begin_ = 0;      // offset behind the last end of a line
  int64_t behind_return_ = -1;  // offset behind a "\r", where a "\n" would belong to it
};

}  // namespace segue

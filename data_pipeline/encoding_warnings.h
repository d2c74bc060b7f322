// Warns of bytes in a text that hint at another encoding or another operating system.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data_pipeline/tokenizer/tokenizer_info.h"

namespace segue {

// What a text looks like beside words: the tags of HTML or XML, or the columns of a table such as CSV.
enum class TextLook : uint8_t { kPlain, kMarkup, kTable };

// What a text is read for.
enum class TextUse : uint8_t { kTraining, kReading };

class EncodingWarnings {
 public:
  void begin_file(const std::string& file, bool has_byte_order_mark, TextLook look = TextLook::kPlain);
  // The next bytes of the file's text, cut anywhere.
  void count(std::span<const std::byte> text);
  // The text goes on with what does not continue the bytes before it.
  void end_document() { ends_with_return_ = false; }
  // A line for each sign that was found, which says what the tokenizer makes of it.
  std::vector<std::string> warnings(TokenizerKind kind, TextUse use) const;

 private:
  struct Sign {
    int64_t count = 0;
    int64_t files = 0;
    std::string first;  // file
  };
  void add(Sign& sign, int64_t count, bool& in_this_file);

  std::string file_;
  bool has_zeros_ = false;  // the file
  bool has_returns_ = false;
  bool ends_with_return_ = false;  // the last block
  Sign marks_;
  Sign tags_;
  Sign tables_;
  Sign zeros_;
  Sign returns_;  // before line feeds
};

}  // namespace segue

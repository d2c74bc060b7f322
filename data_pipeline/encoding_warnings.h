// Warns of bytes in a text that hint at another encoding or another operating system.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data_pipeline/tokenizer/tokenizer_info.h"

namespace segue {

// What a text looks like beside words: the tags of HTML or XML, the columns of a table such as CSV, or one document of
// JSON.
enum class TextLook : uint8_t { kPlain, kMarkup, kTable, kJson };

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

  // Follows the characters of UTF-8 from block to block; no more once one was none.
  void follow_characters(std::span<const std::byte> text);

  std::string file_;
  bool has_zeros_ = false;  // the file
  bool has_returns_ = false;
  bool ends_with_return_ = false;  // the last block
  bool is_utf8_ = true;
  int64_t position_ = 0;  // in the file's text, of the next byte
  int begun_ = 0;         // bytes of its character before it
  int awaited_ = 0;       // and those that this lacks
  uint8_t least_ = 0;     // and what the next of them lies between
  uint8_t most_ = 0;
  int64_t first_foreign_ = 0;  // position in the first file of others_
  Sign others_;                // bytes that are no UTF-8
  Sign json_;
  Sign marks_;
  Sign tags_;
  Sign tables_;
  Sign zeros_;
  Sign returns_;  // before line feeds
};

}  // namespace segue

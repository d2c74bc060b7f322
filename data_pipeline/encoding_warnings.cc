#include "data_pipeline/encoding_warnings.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace segue {
namespace {

// Calls `visit` with where the byte behind each of these lies. Few texts have any, and memchr looks at many at a time.
template <typename Visit>
void for_each_byte(char byte, std::span<const std::byte> text, const Visit& visit) {
  const std::byte* at = text.data();
  const std::byte* const end = at + text.size();
  while (at < end) {
    const void* found = std::memchr(at, byte, static_cast<size_t>(end - at));
    if (found == nullptr) return;
    at = static_cast<const std::byte*>(found) + 1;
    visit(at);
  }
}

}  // namespace

void EncodingWarnings::begin_file(const std::string& file, bool has_byte_order_mark, TextLook look) {
  file_ = file;
  has_zeros_ = has_returns_ = ends_with_return_ = false;
  bool has_mark = false;
  if (has_byte_order_mark) add(marks_, 1, has_mark);
  bool has_look = false;
  if (look == TextLook::kMarkup) add(tags_, 1, has_look);
  if (look == TextLook::kTable) add(tables_, 1, has_look);
}

void EncodingWarnings::add(Sign& sign, int64_t count, bool& in_this_file) {
  if (count == 0) return;
  if (sign.count == 0) sign.first = file_;
  if (!std::exchange(in_this_file, true)) ++sign.files;
  sign.count += count;
}

void EncodingWarnings::count(std::span<const std::byte> text) {
  if (text.empty()) return;
  int64_t zeros = 0;
  for_each_byte('\0', text, [&zeros](const std::byte* /*next*/) { ++zeros; });
  add(zeros_, zeros, has_zeros_);
  int64_t returns = ends_with_return_ && text.front() == std::byte{'\n'} ? 1 : 0;
  for_each_byte('\r', text.first(text.size() - 1),
                [&returns](const std::byte* next) { returns += *next == std::byte{'\n'} ? 1 : 0; });
  ends_with_return_ = text.back() == std::byte{'\r'};
  add(returns_, returns, has_returns_);
}

std::vector<std::string> EncodingWarnings::warnings(TokenizerKind kind, TextUse use) const {
  std::vector<std::string> lines;
  const auto warn = [&lines](const Sign& sign, const std::string& what, std::string_view done) {
    if (sign.count > 0)
      lines.push_back(fmt::format("{} in {}, the first {}: {}", what, counted(sign.files, "source"), sign.first, done));
  };
  warn(marks_, counted(marks_.count, "byte order mark"), "left out");
  const std::string_view kept = use == TextUse::kTraining ? "kept, so a model learns to write them" : "read like words";
  warn(tags_, "tags of HTML or XML",
       fmt::format("{}; pandoc -t plain {} gives the text alone", kept, shell_word(tags_.first)));
  warn(tables_, "columns of a table",
       fmt::format("{}; write the column with the text to a file of its own, without its name", kept));
  warn(zeros_, counted(zeros_.count, "zero byte"), "kept, though text has none");
  warn(returns_, counted(returns_.count, "line") + (returns_.count == 1 ? " ends" : " end") + " with CR LF",
       drops_returns(kind)         ? "read like LF"
       : use == TextUse::kTraining ? "kept, so a model learns to write them; dos2unix makes them LF"
                                   : "kept, though the model may know none; dos2unix makes them LF");
  return lines;
}

}  // namespace segue

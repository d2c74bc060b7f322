#include "data_pipeline/format_detection.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/document_kind.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"
#include "data_pipeline/json_field.h"
#include "data_pipeline/token_width.h"
#include "data_pipeline/unsupported_formats.h"

namespace segue {
namespace {

using namespace std::string_view_literals;

constexpr size_t kFieldsToldOfFile = 20;

// Counts the zero bytes by their offset within groups of four bytes.
std::array<size_t, 4> zeros_of(std::string_view beginning) {
  std::array<size_t, 4> zeros{};
  for (size_t at = 0; at < beginning.size(); ++at)
    if (beginning[at] == '\0') ++zeros.at(at % zeros.size());
  return zeros;
}

// Whether some of the numbers, of `width` bytes each, are characters that text has not.
bool has_controls(std::string_view beginning, size_t width) {
  size_t controls = 0;
  for (size_t at = 0; at + width <= beginning.size(); at += width) {
    const auto low = static_cast<unsigned char>(beginning[at]);
    const bool is_low = std::ranges::all_of(beginning.substr(at + 1, width - 1), [](char byte) { return byte == 0; });
    if (is_low && low < ' ' && low != '\n' && low != '\r' && low != '\t') ++controls;
  }
  return 50 * width * controls > beginning.size();
}

// The rest of a text from its next line that is not empty.
std::string_view next_line_of(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

std::string_view without_mark(std::string_view beginning) {
  if (beginning.starts_with(kByteOrderMark)) beginning.remove_prefix(kByteOrderMark.size());
  return next_line_of(beginning);
}

// One document that holds records or describes other files, instead of a record on each line.
std::string json_document_of(std::string_view text) {
  if (text.starts_with('[') && next_line_of(text.substr(1)).starts_with("{\""))
    return "a list of JSON: write its records as lines with jq -c '.[]'";
  if (!text.starts_with('{')) return {};
  const auto contains = [text](std::string_view word) { return text.find(word) != std::string_view::npos; };
  const bool has_features = contains("\"features\"") && (contains("\"builder_name\"") || contains("\"homepage\""));
  if (contains("\"_data_files\"") || has_features)
    return "the description of a dataset of Hugging Face: give its directory";
  if (contains("\"shards\"") && contains("\"column_encodings\""))
    return "the index of a dataset of MosaicML's StreamingDataset: give its directory";
  return {};
}

}  // namespace

Compression compression_of(std::string_view beginning) {
  constexpr std::string_view kBlockOfBzip2 = "1AY&SY";
  if (beginning.starts_with("\x1f\x8b\x08"sv)) return Compression::kGzip;
  if (beginning.starts_with("\xfd"
                            "7zXZ\0"sv))
    return Compression::kXz;
  const bool is_skippable = !beginning.empty() && (beginning[0] & 0xf0) == 0x50;  // a frame that pzstd begins with
  if (beginning.starts_with("\x28\xb5\x2f\xfd"sv) ||
      (is_skippable && beginning.substr(1).starts_with("\x2a\x4d\x18"sv)))
    return Compression::kZstd;
  // "BZh", the size of its blocks and a block.
  if (beginning.starts_with("BZh"sv) && beginning.size() > 4 && beginning.substr(4).starts_with(kBlockOfBzip2))
    return Compression::kBzip2;
  return Compression::kNone;
}

// Western text in a wider encoding without a mark has zeros at the same offsets; so do tokens of small vocabularies.
std::string wide_text_of(std::string_view beginning) {
  constexpr size_t kFewest = 8;
  const size_t groups = beginning.size() / 4;
  if (groups < kFewest) return {};
  const std::array<size_t, 4> zeros = zeros_of(beginning);
  const auto mostly = [groups](size_t count) { return 10 * count >= 6 * groups; };
  const auto hardly = [groups](size_t count) { return 20 * count <= groups; };
  const bool low = hardly(zeros[0]) && mostly(zeros[1]) && mostly(zeros[3]);
  const bool high = hardly(zeros[3]) && mostly(zeros[0]) && mostly(zeros[2]);
  const bool narrow = low && hardly(zeros[2]);
  const bool wide = low && mostly(zeros[2]);
  if ((narrow && has_controls(beginning, 2)) || (wide && has_controls(beginning, 4))) return raw_tokens_of(beginning);
  if (narrow) return "UTF-16 (iconv -f UTF-16LE -t UTF-8), or tokens (--format uint16)";
  if (wide) return "UTF-32 (iconv -f UTF-32LE -t UTF-8), or tokens (--format uint32)";
  if (high && hardly(zeros[1])) return "UTF-16: convert it with iconv -f UTF-16BE -t UTF-8";
  if (high && mostly(zeros[1])) return "UTF-32: convert it with iconv -f UTF-32BE -t UTF-8";
  return {};
}

std::string json_records_of(std::string_view beginning) {
  const bool may_be_cut = beginning.size() >= kBeginningBytes;
  beginning = without_mark(beginning);
  if (const std::string found = json_document_of(beginning); !found.empty()) return found;
  const std::string_view line = beginning.substr(0, beginning.find('\n'));
  const std::string_view next = next_line_of(beginning.substr(line.size()));
  if (!line.starts_with('{') || (!next.empty() && !next.starts_with('{'))) return {};  // an object may precede prose
  std::string fields;
  try {
    const Json document = parse_json<DataError>(line, "line");
    for (const std::string& field : usable_fields(document, kFieldsToldOfFile))
      fields += fmt::format("{}{}", fields.empty() ? "" : ", ", describe_json(Json(field)));
  } catch (const DataError&) {
    const bool is_cut = may_be_cut && line.size() == beginning.size() && line.starts_with("{\"");
    return is_cut ? "JSON lines: --field takes one of them" : "";
  }
  return fields.empty() ? "" : fmt::format("JSON lines with the fields {}: --field takes one of them", fields);
}

namespace {

// The fields of a line of a table; a separator within quotes separates nothing.
std::vector<std::string> cells_of(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (const char byte : line) {
    if (byte == '"') is_quoted = !is_quoted;
    if (byte == separator && !is_quoted) {
      cells.emplace_back();
    } else if (byte != '"' && byte != '\r') {
      cells.back() += byte;
    }
  }
  return cells;
}

// A word or a few; prose has a space behind a comma.
bool may_be_column(std::string_view name) {
  constexpr size_t kLongestName = 40;
  return !name.empty() && name.size() <= kLongestName && name.front() != ' ' && name.back() != '.';
}

// The names of the columns where the first lines are those of a table; none where they are not.
std::vector<std::string> columns_of(std::string_view beginning, char separator) {
  constexpr size_t kLines = 20;
  constexpr size_t kFewestLines = 4;
  constexpr size_t kFewestOfMany = 3;  // where there are more columns than two
  std::vector<std::string> columns;
  size_t lines = 0;
  for (size_t feed = beginning.find('\n'); feed != std::string_view::npos && lines < kLines;
       feed = beginning.find('\n')) {
    std::vector<std::string> cells = cells_of(beginning.substr(0, feed), separator);
    if (lines > 0 && cells.size() != columns.size()) return {};
    if (lines == 0) columns = std::move(cells);
    beginning.remove_prefix(feed + 1);
    ++lines;
  }
  const std::set<std::string> names(columns.begin(), columns.end());
  const bool are_names = names.size() == columns.size() && std::ranges::all_of(columns, may_be_column);
  const size_t fewest = columns.size() > 2 ? kFewestOfMany : kFewestLines;
  return columns.size() > 1 && are_names && lines >= fewest ? columns : std::vector<std::string>{};
}

std::vector<std::string> columns_of(std::string_view beginning) {
  for (const char separator : {',', '\t', ';'})
    if (std::vector<std::string> columns = columns_of(beginning, separator); !columns.empty()) return columns;
  return {};
}

// A brace, a key in quotes and a colon.
bool begins_as_object(std::string_view text) {
  if (!text.starts_with('{')) return false;
  const std::string_view key = next_line_of(text.substr(1));
  if (!key.starts_with('"')) return false;
  const size_t end = key.find('"', 1);
  return end != std::string_view::npos && next_line_of(key.substr(end + 1)).starts_with(':');
}

bool begins_with_a_tag(std::string_view text) {
  constexpr std::array kTags{"<!doctype html"sv, "<html"sv, "<?xml"sv, "<head"sv, "<body"sv, "<div"sv, "<p>"sv};
  std::string begin(text.substr(0, kTags.front().size()));
  std::ranges::transform(begin, begin.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::ranges::any_of(kTags, [&](std::string_view tag) { return begin.starts_with(tag); });
}

}  // namespace

TextLook look_of_text(std::string_view beginning) {
  const std::string_view text = without_mark(beginning);
  if (begins_with_a_tag(text)) return TextLook::kMarkup;
  if (begins_as_object(text)) return TextLook::kJson;
  return columns_of(text).empty() ? TextLook::kPlain : TextLook::kTable;
}

void check_json_lines(std::string_view beginning, const std::string& name) {
  constexpr size_t kLongestBeginning = 40;
  const std::string_view text = without_mark(beginning);
  if (text.empty() || text.front() == '{' || text.front() == '[') return;
  const std::vector<std::string> columns = columns_of(text);
  const std::string found =
      columns.empty()
          ? fmt::format("text that begins {}",
                        describe_json(Json(printable_line(text.substr(0, text.find('\n')), kLongestBeginning))))
          : fmt::format("a table with the columns {}; its text needs a file of its own", fmt::join(columns, ", "));
  throw DataError(
      "{}: expected lines of JSON, of which --field takes a part, found {}; without --field all of it is text", name,
      found);
}

namespace {

// Whether a line that is longer than what is looked at has a list in the field.
bool seems_to_have_list(std::string_view line, const std::string& field) {
  const std::string key = describe_json(Json(field.substr(field.rfind('.') + 1)));
  size_t at = line.find(key);
  if (at == std::string_view::npos) return false;
  at = line.find_first_not_of(" \t:", at + key.size());
  return at != std::string_view::npos && line[at] == '[';
}

}  // namespace

bool is_list_in_lines(std::string_view beginning, const std::string& field) {
  beginning = without_mark(beginning);
  while (!beginning.empty()) {
    const std::string_view line = beginning.substr(0, beginning.find('\n'));
    beginning = next_line_of(beginning.substr(line.size()));
    try {
      const Json document = parse_json<DataError>(line, "line");
      const Json* found = find_field(document, field);
      if (found != nullptr && !found->is_null()) return found->is_array();
    } catch (const DataError&) {
      return seems_to_have_list(line, field);
    }
  }
  return false;
}

std::string part_of_whole(const std::filesystem::path& file, std::string_view beginning) {
  if (!looks_binary(beginning) && !beginning.starts_with("\x89HDF"sv)) return {};
  const auto whole = whole_of_file(file);
  if (!whole) return {};
  const bool is_dataset = whole->kind == "a dataset";
  return fmt::format("a file of {}, whose directory is {}; {}", whole->kind, shell_word(whole->directory.string()),
                     is_dataset ? "segue train (data.path) and segue eval (--data) read that"
                                : "segue eval and segue generate read that");
}

void check_plain_text(std::string_view beginning, const std::string& name, const std::string& as_is_flag,
                      const Recipe& recipe) {
  std::string found = unsupported_format_of(beginning, Expected::kText, recipe);
  if (found.empty()) found = wide_text_of(beginning);
  if (found.empty() && looks_binary(beginning)) {
    found = raw_tokens_of(beginning);
    if (found.empty()) found = "no text";
  }
  if (!found.empty()) found = "what looks like " + found;
  if (found.empty()) found = json_records_of(beginning);
  // What only a source of a dataset may be.
  for (const std::string_view advice : {": --field", ": give --format", ", or tokens (--format"})
    found.resize(std::min(found.size(), found.find(advice)));
  if (!found.empty())
    throw DataError("{}: expected text, found {}{}", name, found,
                    as_is_flag.empty() ? "" : fmt::format("; {} takes its bytes as they are", as_is_flag));
}

}  // namespace segue

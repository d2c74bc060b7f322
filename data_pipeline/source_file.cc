#include "data_pipeline/source_file.h"

#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data_pipeline/format_detection.h"
#include "data_pipeline/json_lines.h"
#include "data_pipeline/separator.h"
#include "data_pipeline/token_width.h"
#include "data_pipeline/unsupported_formats.h"

namespace segue {
namespace {

constexpr size_t kSourceBlockBytes = size_t{1} << 20;

std::string_view text_of_block(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string beginning_of(const SourceFile& file) {
  std::string text(kBeginningBytes, '\0');
  const auto stream = open_byte_stream(file.content, file.compression, file.path.string());
  text.resize(stream->read(std::as_writable_bytes(std::span(text))).size());
  return text;
}

std::string checksum_of_file(const std::filesystem::path& path, const std::string& name) {
  std::vector<std::byte> block(kSourceBlockBytes);
  const auto stream = open_byte_stream(path, Compression::kNone, name);
  Checksum checksum;
  for (auto part = stream->read(block); !part.empty(); part = stream->read(block)) checksum.update(part);
  return checksum.text();
}

// Standard input ends up in a file, so that it can be looked at and read as often as the tokenizer needs.
std::filesystem::path copy_standard_input(const std::filesystem::path& directory) {
  std::filesystem::path copy = directory / "standard-input";
  std::vector<std::byte> block(kSourceBlockBytes);
  StandardInput input;
  FileWriter file(copy);
  bool is_first = true;
  for (auto part = input.read(block); !part.empty(); part = input.read(block)) {
    if (std::exchange(is_first, false)) refuse_git_lfs_pointer(text_of_block(part), std::string(kStandardInput));
    file.write(part);
  }
  return copy;
}

std::string_view words_of(Expected expected) {
  if (expected == Expected::kEither) return "text or tokens";
  return expected == Expected::kText ? "text" : "raw tokens";
}

[[noreturn]] void refuse(const std::string& name, std::string_view expected, const std::string& found) {
  throw DataError("{}: expected {}, found {}; --as-is takes its bytes as they are", name, expected, found);
}

// Of tokens without a header, as the format says.
TokenLayout raw_layout(SourceFormat format) {
  const bool narrow = format == SourceFormat::kUInt16;
  return {.format = "raw tokens", .element = narrow ? ElementType::kUInt16 : ElementType::kUInt32};
}

// What is in the file, unpacked if need be.
std::string look_inside(SourceFile& file, Expected expected) {
  std::string beginning = beginning_of(file);
  file.compression = compression_of(beginning);
  if (file.compression == Compression::kNone) return beginning;
  beginning = beginning_of(file);
  if (compression_of(beginning) != Compression::kNone)
    throw DataError("{}: expected {}, found data that is compressed twice", file.path.string(), words_of(expected));
  refuse_git_lfs_pointer(beginning, file.path.string());
  return beginning;
}

void look_at_tokens(SourceFile& file, const std::string& beginning, SourceFormat format) {
  const std::string found = other_tokens_than(source_type_of(format), beginning);
  if (!found.empty())
    refuse(file.path.string(), fmt::format("tokens of {}", name_of(source_type_of(format))),
           "what looks like " + found);
  file.tokens = raw_layout(format);
}

void look_at_text(SourceFile& file, const std::string& beginning, Expected expected, const std::string& field) {
  const std::string name = file.path.string();
  if (const std::string found = wide_text_of(beginning); !found.empty())
    refuse(name, words_of(expected), "what looks like " + found);
  if (expected == Expected::kEither && looks_binary(beginning)) {
    const std::string found = raw_tokens_of(beginning);
    refuse(name, words_of(expected),
           "what looks like " + (found.empty() ? "neither: name the width of raw tokens with --format" : found));
  }
  if (!field.empty()) {
    file.is_ids = expected == Expected::kEither && is_list_in_lines(beginning, field);
  } else if (const std::string found = json_records_of(beginning); !found.empty()) {
    refuse(name, words_of(expected), found);
  } else {
    file.look = look_of_text(beginning);
  }
  if (beginning.starts_with(kByteOrderMark)) file.skipped = std::ssize(kByteOrderMark);
}

void look_at_source(SourceFile& file, const PrepareOptions& options) {
  const std::string name = file.path.string();
  const bool is_open = options.format == SourceFormat::kAuto;
  const bool raw = !is_open && options.format != SourceFormat::kText;
  const Expected expected = is_open ? Expected::kEither : raw ? Expected::kTokens : Expected::kText;
  const std::string beginning = look_inside(file, expected);
  const bool is_packed = file.compression != Compression::kNone;
  if (is_open) {
    file.tokens = find_token_layout({name, file.content, is_packed, beginning, file.file_bytes, options.field});
    if (file.tokens && !file.tokens->array && !options.field.empty())
      throw DataError("{}: expected lines of JSON or an .npz archive, of which --field takes a part, found {}", name,
                      file.tokens->format);
    if (file.tokens) return;
  }
  if (const std::string part = part_of_whole(file.path, beginning); !part.empty())
    throw DataError("{}: expected {}, found {}", name, words_of(expected), part);
  const Recipe recipe{.file = name == kStandardInput ? "" : name, .compression = file.compression};
  if (const std::string found = unsupported_format_of(beginning, expected, recipe); !found.empty())
    refuse(name, words_of(expected), "what looks like " + found);
  if (!options.field.empty()) check_json_lines(beginning, name);
  if (!raw) return look_at_text(file, beginning, expected, options.field);
  file.is_ids = !options.field.empty();
  if (!file.is_ids) look_at_tokens(file, beginning, options.format);
}

int64_t bytes_inside(const SourceFile& file) {
  if (file.compression == Compression::kNone) return file.file_bytes;
  return count_bytes(*open_byte_stream(file.content, file.compression, file.path.string()));
}

// The documents of lines of JSON; counts the lines into `counts`, where there is one.
std::unique_ptr<ByteStream> open_json_lines(const SourceFile& file, std::unique_ptr<ByteStream> lines, int64_t limit,
                                            DocumentListener listener, JsonLineCounts* counts) {
  JsonLineOptions options{.field = file.field,
                          .text_separator = file.text_separator,
                          .token_separator = file.separator,
                          .listener = std::move(listener),
                          .counts = counts};
  if (file.is_ids) options.ids = JsonIds{.type = file.token_type, .limit = limit};
  return make_json_line_stream(std::move(lines), options, file.path.string());
}

// The file as it is unpacked, behind a byte order mark.
std::unique_ptr<ByteStream> open_unpacked(const SourceFile& file) {
  std::unique_ptr<ByteStream> stream = open_byte_stream(file.content, file.compression, file.path.string());
  std::vector<std::byte> mark(static_cast<size_t>(file.skipped));
  stream->read(mark);
  return stream;
}

// Reads lines of JSON once.
int64_t count_documents_bytes(SourceFile& file) {
  return count_bytes(*open_json_lines(file, open_unpacked(file), kLargestVocabulary, {}, &file.json_lines));
}

void measure(SourceFile& file) {
  if (file.tokens) {
    const int64_t elements =
        file.tokens->array ? file.tokens->array->tokens.bytes() : bytes_inside(file) - file.tokens->header_bytes;
    count_tokens(*file.tokens, elements, file.path.string());
  } else if (!file.is_ids) {
    file.bytes = file.field.empty() ? bytes_inside(file) - file.skipped : count_documents_bytes(file);
    if (file.bytes == 0) throw DataError("{}: there is no text in it", file.path.string());
  }
  const bool is_plain = file.compression == Compression::kNone && file.field.empty() && file.skipped == 0 &&
                        (!file.tokens || file.tokens->format == raw_layout(SourceFormat::kUInt16).format);
  if (!is_plain) file.checksum = checksum_of_file(file.content, file.path.string());
}

// "name the files in it, as in: 'my corpus'/*.txt", of files that are there.
std::string files_to_name(const std::filesystem::path& directory) {
  std::string pattern;
  for (const std::string& name : names_in(directory)) {
    const std::filesystem::path file = directory / name;
    if (!std::filesystem::is_regular_file(file)) continue;
    const std::string ending = file.extension().string();
    if (pattern.empty() || ending == ".txt") pattern = fmt::format("*{}", ending);
  }
  if (pattern.empty()) return "name files of text";
  std::string place = directory.string();
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  return fmt::format("name the files in it, as in: {}/{}", shell_word(place), pattern);
}

void refuse_what_is_no_file(const SourceFile& file) {
  const std::string name = file.path.string();
  if (!std::filesystem::exists(file.content)) {
    const std::filesystem::path tokens = name + ".bin";
    const bool is_prefix = !megatron_index_of(tokens).empty();
    throw DataError(
        "{}: there is no such file{}", name,
        is_prefix ? fmt::format("; did you mean {}, of Megatron-LM?", tokens.string()) : hint_at_missing(file.path));
  }
  if (std::filesystem::is_fifo(file.content))
    throw DataError("{}: expected a regular file, found a pipe; - is standard input", name);
  if (std::filesystem::is_regular_file(file.content)) return;
  const std::string found = unsupported_directory_of(file.content);
  if (found.empty() && std::filesystem::is_directory(file.content))
    throw DataError("{}: expected a file, found {}; {}", name, describe_path(file.content),
                    files_to_name(file.content));
  throw DataError("{}: expected a regular file{}", name, found.empty() ? "" : ", found " + found);
}

}  // namespace

SourceInfo source_beside(const std::filesystem::path& path, std::vector<std::string> splits) {
  return {.file = path.string(),
          .bytes = static_cast<int64_t>(std::filesystem::file_size(path)),
          .checksum = checksum_of_file(path, path.string()),
          .splits = std::move(splits),
          .is_beside = true};
}

SourceFile inspect_source(const std::filesystem::path& path, const PrepareOptions& options,
                          const std::filesystem::path& directory) {
  const std::string name = path.string();
  SourceFile file{.path = path, .content = path};
  if (name == kStandardInput) file.content = copy_standard_input(directory);
  refuse_what_is_no_file(file);
  file.file_bytes = static_cast<int64_t>(std::filesystem::file_size(file.content));
  if (file.file_bytes == 0 && name == kStandardInput)
    throw DataError("-: expected text or tokens from standard input, found nothing; the command before | printed none");
  if (file.file_bytes == 0) throw DataError("{}: the file is empty; name one with text in it", name);
  if (!options.as_is) {
    look_at_source(file, options);
  } else if (options.format == SourceFormat::kUInt16 || options.format == SourceFormat::kUInt32) {
    file.tokens = raw_layout(options.format);
  }
  if (!file.tokens) file.field = options.field;
  file.separator = options.separator;
  file.text_separator = separator_of_text(options);
  measure(file);
  return file;
}

TokenType type_of_tokens(const SourceFile& file) {
  return file.is_ids || bytes_of(file.tokens->element) > 2 ? TokenType::kUInt32 : TokenType::kUInt16;
}

void settle_tokens(SourceFile& file, TokenType type, std::optional<int64_t> separator) {
  file.token_type = type;
  file.separator = separator;
  if (file.is_ids) {
    file.bytes = count_documents_bytes(file);
    if (file.bytes == 0) throw DataError("{}: there are no tokens in it", file.path.string());
    return;
  }
  const int64_t separators = separator ? file.tokens->count_documents() - 1 : 0;
  file.bytes = (file.tokens->tokens + separators) * bytes_of(type);
}

std::unique_ptr<ByteStream> open_source(const SourceFile& file, int64_t limit, DocumentListener listener) {
  const std::string name = file.path.string();
  if (file.tokens) {
    std::unique_ptr<ByteStream> stream;
    if (!file.tokens->array) stream = open_byte_stream(file.content, file.compression, name);
    return open_tokens(*file.tokens, std::move(stream), file.content,
                       {.name = name, .type = file.token_type, .limit = limit, .separator = file.separator});
  }
  if (file.field.empty()) return open_unpacked(file);
  return open_json_lines(file, open_unpacked(file), limit, std::move(listener), nullptr);
}

}  // namespace segue

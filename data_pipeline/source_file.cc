// The look at a source before anything is made of it.
#include "data_pipeline/source_file.h"

#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "data_pipeline/json_lines.h"
#include "data_pipeline/source_look.h"
#include "data_pipeline/token_width.h"

namespace segue {
namespace {

constexpr size_t kSourceBlockBytes = size_t{1} << 20;

std::string beginning_of(const SourceFile& file) {
  std::string text(kBeginningBytes, '\0');
  const auto stream = open_byte_stream(file.content, file.compression, file.path.string());
  text.resize(stream->read(std::as_writable_bytes(std::span(text))).size());
  return text;
}

std::string checksum_of_file(const SourceFile& file) {
  std::vector<std::byte> block(kSourceBlockBytes);
  const auto stream = open_byte_stream(file.content, Compression::kNone, file.path.string());
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
  for (auto part = input.read(block); !part.empty(); part = input.read(block)) file.write(part);
  return copy;
}

void check_look(SourceFile& file, const PrepareOptions& options) {
  const bool text = options.format == SourceFormat::kText;
  const std::string name = file.path.string();
  const char* expected = text ? "text" : "raw tokens";
  std::string beginning = beginning_of(file);
  file.compression = compression_of(beginning);
  if (file.compression != Compression::kNone) {
    beginning = beginning_of(file);
    if (compression_of(beginning) != Compression::kNone)
      throw DataError("{}: expected {}, found what is compressed twice", name, expected);
  }
  if (!text) {
    if (const std::string found = foreign_format_of(beginning, text); !found.empty())
      throw DataError("{}: expected {}, found what looks like {}; --as-is takes its bytes as they are", name, expected,
                      found);
    const std::string found = other_tokens_than(source_type_of(options.format), beginning);
    if (!found.empty())
      throw DataError("{}: expected tokens of {}, found what looks like {}; --as-is takes its bytes as they are", name,
                      name_of(source_type_of(options.format)), found);
    return;
  }
  check_text_look(beginning, name, !options.field.empty(), {.json_lines = "--field", .as_is = "--as-is"});
  if (beginning.starts_with(kByteOrderMark)) file.skipped = std::ssize(kByteOrderMark);
}

void measure(SourceFile& file) {
  const bool is_counted = file.compression != Compression::kNone || !file.field.empty();
  file.bytes = is_counted ? count_bytes(*open_source(file)) : file.file_bytes - file.skipped;
  if (is_counted || file.skipped > 0) file.checksum = checksum_of_file(file);
}

}  // namespace

SourceFile inspect_source(const std::filesystem::path& path, const PrepareOptions& options,
                          const std::filesystem::path& directory) {
  const std::string name = path.string();
  SourceFile file{.path = path, .content = path};
  if (name == kStandardInput) file.content = copy_standard_input(directory);
  if (!std::filesystem::exists(file.content)) throw DataError("{}: there is no such file", name);
  if (std::filesystem::is_fifo(file.content))
    throw DataError("{}: expected a regular file, found a pipe; - is standard input", name);
  if (!std::filesystem::is_regular_file(file.content)) throw DataError("{}: expected a regular file", name);
  file.file_bytes = static_cast<int64_t>(std::filesystem::file_size(file.content));
  if (file.file_bytes == 0) throw DataError("{}: the file is empty", name);
  if (!options.as_is) check_look(file, options);
  file.field = options.field;
  if (options.separator) file.separator = static_cast<char>(*options.separator);
  measure(file);
  if (file.bytes == 0) throw DataError("{}: there is no text in it", name);
  const int64_t token_bytes = bytes_of(source_type_of(options.format));
  if (file.bytes % token_bytes != 0)
    throw DataError("{}: expected whole tokens of {} bytes, found {} bytes: the file is cut off or of another type",
                    name, token_bytes, file.bytes);
  return file;
}

std::unique_ptr<ByteStream> open_source(const SourceFile& file,
                                        std::function<void(std::string_view document)> document_seen) {
  auto stream = open_byte_stream(file.content, file.compression, file.path.string());
  std::vector<std::byte> mark(static_cast<size_t>(file.skipped));
  stream->read(mark);
  if (file.field.empty()) return stream;
  return make_json_line_stream(std::move(stream), {file.field, file.separator, std::move(document_seen)},
                               file.path.string());
}

}  // namespace segue

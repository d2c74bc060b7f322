#include "data_pipeline/text_file.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data_pipeline/format_detection.h"
#include "data_pipeline/source_file.h"

namespace segue {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

// Bytes that were read already, then the rest.
class ResumedStream : public ByteStream {
 public:
  ResumedStream(std::string begin, std::unique_ptr<ByteStream> rest)
      : begin_(std::move(begin)), rest_(std::move(rest)) {}

  std::span<std::byte> read(std::span<std::byte> block) override {
    const std::span<std::byte> known =
        std::as_writable_bytes(std::span(begin_)).subspan(given_, std::min(begin_.size() - given_, block.size()));
    std::ranges::copy(known, block.begin());
    given_ += known.size();
    return block.first(known.size() + rest_->read(block.subspan(known.size())).size());
  }

 private:
  std::string begin_;
  size_t given_ = 0;
  std::unique_ptr<ByteStream> rest_;
};

// Returns the first bytes; `stream` still begins with them.
std::string look_at(std::unique_ptr<ByteStream>& stream) {
  std::string beginning(kBeginningBytes, '\0');
  beginning.resize(stream->read(std::as_writable_bytes(std::span(beginning))).size());
  stream = std::make_unique<ResumedStream>(beginning, std::move(stream));
  return beginning;
}

std::unique_ptr<ByteStream> open_text(const std::filesystem::path& path, const TextReading& reading) {
  if (reading.reader.empty()) return open_byte_stream(path, Compression::kNone, path.string());
  if (path == kStandardInput) return open_standard_input();
  std::error_code error;
  if (std::filesystem::is_fifo(path, error))
    throw FileError("{}: expected a regular file, found a pipe; - is standard input", path.string());
  return open_byte_stream(path, Compression::kNone, path.string());
}

// The text of a stream without compression, and what it looks like.
std::unique_ptr<ByteStream> unwrap(std::unique_ptr<ByteStream> stream, const std::string& name,
                                   const TextReading& reading, FileText& file) {
  std::string beginning = look_at(stream);
  const Compression compression = compression_of(beginning);
  if (compression != Compression::kNone) {
    stream = decode_bytes(std::move(stream), compression, name, reading.reader);
    beginning = look_at(stream);
    if (compression_of(beginning) != Compression::kNone)
      throw DataError("{}: expected text, found data that is compressed twice", name);
  }
  if (const std::string part = part_of_whole(name, beginning); !part.empty())
    throw DataError("{}: expected text, found {}", name, part);
  const Recipe recipe{.file = name == kStandardInput ? "" : name, .compression = compression, .reader = reading.reader};
  check_plain_text(beginning, name, reading.as_is_flag, recipe);
  if (beginning.starts_with(kByteOrderMark)) {
    std::array<std::byte, kByteOrderMark.size()> mark{};
    file.skipped = std::ssize(stream->read(mark));
  }
  file.signs.begin_file(name, file.skipped > 0, look_of_text(beginning));
  return stream;
}

}  // namespace

FileText read_text_file(const std::filesystem::path& path, const TextReading& reading) {
  return read_text(open_text(path, reading), path.string(), reading);
}

FileText read_text(std::unique_ptr<ByteStream> bytes, const std::string& name, const TextReading& reading) {
  FileText file;
  std::unique_ptr<ByteStream> stream = std::move(bytes);
  if (!reading.as_is) stream = unwrap(std::move(stream), name, reading, file);
  std::vector<std::byte> block(kReadBytes);
  for (auto part = stream->read(block); !part.empty(); part = stream->read(block)) {
    if (std::ssize(file.text) + std::ssize(part) > kLargestText)
      throw DataError("{}: expected at most {} of text, found more", name, human_bytes(kLargestText));
    file.text.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  if (reading.as_is) return file;
  file.signs.count(std::as_bytes(std::span(file.text)));
  return file;
}

}  // namespace segue

// Streams of bytes: of a file, of decompressed data, or of bytes made on the fly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace segue {

// How a file is compressed.
// Stands for standard input among the sources.
constexpr std::string_view kStandardInput = "-";

// What takes text from a pipe, for advice.
constexpr std::string_view kPrepareReader = "segue prepare --input - --output DIR";

enum class Compression : uint8_t { kNone, kGzip, kBzip2, kXz, kZstd };

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `block` as far as the bytes go; the part of it that was filled, empty at the end.
  virtual std::span<std::byte> read(std::span<std::byte> block) = 0;
};

// Opens the content of `path`, which messages call `name`. Members that follow each other are read as one. Throws
// FileError, and DataError for data that is damaged or cut off: checksums are looked at wherever the file has them.
std::unique_ptr<ByteStream> open_byte_stream(const std::filesystem::path& path, Compression compression,
                                             const std::string& name);

// The same of bytes that come from elsewhere. `reader` is a command that takes them from a pipe, for advice.
std::unique_ptr<ByteStream> decode_bytes(std::unique_ptr<ByteStream> bytes, Compression compression,
                                         const std::string& name, const std::string& reader);

// Standard input.
std::unique_ptr<ByteStream> open_standard_input();

// The bytes from here to the end.
int64_t count_bytes(ByteStream& stream);

}  // namespace segue

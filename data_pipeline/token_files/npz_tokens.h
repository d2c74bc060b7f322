// Tokens in an array of NumPy's .npz: a zip archive with one .npy file for each array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "data_pipeline/byte_stream.h"
#include "data_pipeline/token_files/npy_tokens.h"

namespace segue {

struct NpzArray {
  uint64_t index = 0;  // in the archive
  std::string name;
  NpyTokens tokens;
};

// An archive that is open. Throws DataError that begins with `name` and says which array it is about for what is
// damaged, encrypted, or unpacks to far more than tokens do.
class NpzArchive {
 public:
  NpzArchive(const std::filesystem::path& path, std::string name);
  NpzArchive(std::span<const std::byte> bytes, std::string name);  // which someone else owns

  // The array called `field`, or, where that is empty, the only one. Throws DataError that lists them.
  NpzArray find(const std::string& field) const;

  // Its elements, which keep the archive open. Their checksum is looked at when the last is read.
  std::unique_ptr<ByteStream> open(const NpzArray& array) const;

 private:
  struct Handle;
  std::shared_ptr<Handle> handle_;
  std::string name_;
};

// Whether a zip archive begins with an array of NumPy.
bool is_npz(std::string_view beginning);

}  // namespace segue

// An HDF5 file as bytes at offsets that cannot be trusted.
//
// The files beside this one read HDF5 without its library, which crafted files crash. They know the part of the
// format that rows of numbers need: one-dimensional datasets and attributes, found by hard links of the root group.
// Whatever else a file holds is passed over, or refused by name where it is asked for. All of them throw DataError
// "<file>: <what is wrong>", one line, and FileError when the system refuses to read.
//
// Section numbers are those of the HDF5 File Format Specification, version 3.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace segue {

// The address of what is not there.
constexpr uint64_t kHdf5Nowhere = ~uint64_t{0};

inline constexpr uint64_t kHdf5AddressBytes = 8;

// How many bytes a number takes whose largest value is known.
uint64_t hdf5_bytes_of_number(uint64_t largest);

class Hdf5Bytes {
 public:
  explicit Hdf5Bytes(const std::filesystem::path& path);
  // The same from memory owned by someone else; `source` stands for the file in messages.
  Hdf5Bytes(std::string source, std::span<const std::byte> bytes);

  const std::string& source() const { return source_; }
  uint64_t size() const { return size_; }

  // `what` is read, for messages: "chunk 3".
  void read(uint64_t offset, std::span<std::byte> block, std::string_view what) const;
  // The same, of a structure's size at most: far less than data takes.
  std::vector<std::byte> piece(uint64_t offset, uint64_t length, std::string_view what) const;

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw DataError("{}: {}", source_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::string source_;
  std::unique_ptr<const FileReader> file_;
  std::span<const std::byte> memory_;
  uint64_t size_ = 0;
};

// Takes little-endian numbers and blocks off the front of a piece, never beyond its end.
class Hdf5Cursor {
 public:
  // `what` the piece is, for messages, has to live as long.
  Hdf5Cursor(const Hdf5Bytes& file, std::span<const std::byte> piece, std::string_view what)
      : file_(&file), rest_(piece), what_(what) {}

  uint64_t number(size_t bytes);  // 1 to 8
  std::span<const std::byte> block(uint64_t bytes);
  void skip(uint64_t bytes) { block(bytes); }
  bool take_signature(std::string_view signature);  // whether it is next, and then no more
  void expect_signature(std::string_view signature);
  void expect_version(uint64_t expected);
  size_t left() const { return rest_.size(); }
  std::span<const std::byte> rest() const { return rest_; }
  std::string_view what() const { return what_; }
  const Hdf5Bytes& file() const { return *file_; }

 private:
  const Hdf5Bytes* file_;
  std::span<const std::byte> rest_;
  std::string_view what_;
};

// The text up to the first zero byte.
std::string_view hdf5_text(std::span<const std::byte> bytes);

// Bob Jenkins' lookup3, which guards structures against damage (not against forgery).
inline constexpr uint64_t kHdf5SealBytes = 4;
uint32_t hdf5_checksum(std::span<const std::byte> bytes);

// Refuses a piece whose last four bytes are not the checksum of the others.
void check_hdf5_seal(const Hdf5Bytes& file, std::span<const std::byte> piece, std::string_view what);

}  // namespace segue

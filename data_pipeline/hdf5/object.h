// Objects of an HDF5 file: their headers, and how the root group's children are found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/hdf5/bytes.h"

namespace segue {

// The kinds of header messages that are looked at (section IV.A.2).
enum class Hdf5Kind : uint64_t {
  kExtent = 0x01,
  kLinkInfo = 0x02,
  kType = 0x03,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kFilters = 0x0b,
  kAttribute = 0x0c,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kAttributeInfo = 0x15,
};

struct Hdf5Message {
  Hdf5Kind kind;
  bool is_shared;  // lies elsewhere, and the body says where
  std::vector<std::byte> body;
};

// The header of a group or a dataset (section IV.A.1).
class Hdf5Object {
 public:
  // `name` stands for the object in messages: `"tokens"`, `the root group`.
  Hdf5Object(const Hdf5Bytes& file, uint64_t address, std::string name);

  const Hdf5Bytes& file() const { return *file_; }
  const std::string& name() const { return name_; }
  // Null when there is none; one of a kind is what a sound header has. Refuses a shared one.
  const Hdf5Message* find(Hdf5Kind kind) const;
  const Hdf5Message& need(Hdf5Kind kind, std::string_view what) const;
  std::vector<const Hdf5Message*> all(Hdf5Kind kind) const;

 private:
  struct Stretch {
    uint64_t address;
    uint64_t length;
  };
  void read_first(uint64_t address);
  void read_sealed(uint64_t address);
  void add_messages(Hdf5Cursor cursor);
  void add_sealed_messages(Hdf5Cursor cursor, bool has_order);
  void add(uint64_t kind, uint64_t flags, std::span<const std::byte> body);

  const Hdf5Bytes* file_;
  std::string name_;
  std::vector<Hdf5Message> messages_;
  std::vector<Stretch> waiting_;  // continuations not read yet
  size_t stretches_ = 0;
};

// Reads the file's head (section II).
Hdf5Object open_hdf5_root(const Hdf5Bytes& file);

// Follows a hard link, and no other kind.
Hdf5Object open_hdf5_child(const Hdf5Object& group, std::string_view name);
bool has_hdf5_child(const Hdf5Object& group, std::string_view name);

}  // namespace segue

// Weight files in the safetensors format, read without trusting them and written so that any other reader accepts them.
//
// Layout: the header's length (8 bytes, little-endian), the header (JSON: name -> dtype, shape, data_offsets), the
// data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/file.h"
#include "base/tensor.h"

namespace segue {

// The content of the header's "__metadata__".
using Metadata = std::map<std::string, std::string>;

struct NamedTensor {
  std::string name;
  ConstTensorView tensor;
};

// A whole file, validated before anything of it can be used; the views live as long as this object.
// Every tensor's data is aligned to its element type: what lies unaligned in the file is copied at opening.
class SafetensorsFile {
 public:
  // Throws FileError when the file cannot be mapped, CheckpointError naming the file and the tensor when it is
  // malformed: a length beyond the file, JSON that is not a header, an unknown dtype, a shape that overflows or has
  // more extents than Shape holds, data that overlap, leave a hole, exceed the file, or differ in size from shape and
  // dtype.
  explicit SafetensorsFile(const std::filesystem::path& path);

  // The same from memory owned by someone else; `source` stands for the file in messages.
  SafetensorsFile(std::string source, std::span<const std::byte> bytes);

  const std::string& source() const { return source_; }
  const Metadata& metadata() const { return metadata_; }
  std::vector<std::string> names() const;  // in alphabetical order
  bool contains(const std::string& name) const { return tensors_.contains(name); }

  // Throws CheckpointError naming the nearest tensor when there is none of this name.
  ConstTensorView tensor(const std::string& name) const;

  // The same, also throwing when dtype or shape are not the expected ones.
  ConstTensorView tensor(const std::string& name, DType dtype, const Shape& shape) const;

 private:
  void read(std::span<const std::byte> bytes);

  std::string source_;
  std::unique_ptr<const MappedFile> file_;
  Metadata metadata_;
  std::map<std::string, ConstTensorView> tensors_;
  std::vector<OwnedTensor> aligned_copies_;
};

// Size and checksum of a file as written, for a manifest.
struct WrittenFile {
  int64_t bytes = 0;
  std::string checksum;
};

// Writes beside, syncs, renames. Data are ordered by element size, largest first (so that each lies aligned), then as
// given. Throws FileError when the system refuses, ContractError when a name appears twice.
WrittenFile write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                              const Metadata& metadata);

// The format's name of an element type ("F32", "BF16", ...).
std::string_view safetensors_name_of(DType dtype);

}  // namespace segue

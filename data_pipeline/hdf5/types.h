// The types of elements of an HDF5 dataset or attribute, and the values of attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/hdf5/object.h"

namespace segue {

// Section IV.A.2.d; of whole numbers and floating-point ones only those whose bits are all in use.
struct Hdf5Type {
  enum class Kind : uint8_t { kWhole, kFloat, kText, kTextElsewhere, kOther };
  Kind kind = Kind::kOther;
  uint64_t bytes = 0;  // of an element
  bool is_signed = false;
  bool is_big_endian = false;
  bool is_padded_with_blanks = false;  // of a text
};

Hdf5Type parse_hdf5_type(Hdf5Cursor cursor);

// The extents; none for a single element. `most`, where it is asked for, is what they may grow to. Section IV.A.2.b.
std::vector<uint64_t> parse_hdf5_extents(Hdf5Cursor cursor, std::vector<uint64_t>* most = nullptr);

// Whole numbers from elements as they lie in the file, at most eight bytes each; those above int64_t's range turn
// negative.
int64_t hdf5_whole_number(const Hdf5Type& type, std::span<const std::byte> element);
double hdf5_float(const Hdf5Type& type, std::span<const std::byte> element);

// Nothing when the object has no attribute of the name; a DataError when it holds anything but one such value. A whole
// number may be stored as a floating-point one or as a text.
std::optional<std::string> hdf5_text_attribute(const Hdf5Object& object, std::string_view name);
std::optional<int64_t> hdf5_integer_attribute(const Hdf5Object& object, std::string_view name);

}  // namespace segue

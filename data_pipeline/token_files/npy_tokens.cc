// The types and shapes of tokens, among all that NumPy can describe.
#include "data_pipeline/token_files/npy_tokens.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/npy_header.h"

namespace segue {
namespace {

constexpr size_t kLongestTypeShown = 40;

struct ElementDescription {
  std::string_view name;
  ElementType element;
};
constexpr std::array kElementDescriptions{
    ElementDescription{"|u1", ElementType::kUInt8},  ElementDescription{"|i1", ElementType::kInt8},
    ElementDescription{"<u2", ElementType::kUInt16}, ElementDescription{"<i2", ElementType::kInt16},
    ElementDescription{"<u4", ElementType::kUInt32}, ElementDescription{"<i4", ElementType::kInt32},
    ElementDescription{"<u8", ElementType::kUInt64}, ElementDescription{"<i8", ElementType::kInt64}};

ElementType element_called(const std::string& name, const std::string& where) {
  const auto* const known =
      std::ranges::find_if(kElementDescriptions, [&name](const ElementDescription& each) { return each.name == name; });
  if (known != kElementDescriptions.end()) return known->element;
  if (name == "|O")
    throw DataError("{}: expected whole numbers, found pickled Python objects: write numpy.concatenate() of the rows",
                    where);
  const std::string shown = printable_line(name, kLongestTypeShown);
  if (name.starts_with('>') && name.size() == 3 && (name[1] == 'u' || name[1] == 'i'))
    throw DataError("{}: expected little-endian numbers, found {}: write astype(\"<{}\")", where, shown,
                    name.substr(1));
  throw DataError("{}: expected whole numbers, found elements of type {}: write astype(\"uint32\")", where, shown);
}

}  // namespace

bool is_npy(std::string_view beginning) { return beginning.starts_with("\x93NUMPY"); }

NpyTokens read_npy_tokens(std::string_view beginning, const std::string& where) {
  const auto bytes = std::as_bytes(std::span(beginning));
  const NpyDescription found = read_npy_description(bytes, where, &raise_as<DataError>);
  NpyTokens array{.element = element_called(found.dtype, where), .header_bytes = found.header_bytes};
  const size_t dimensions = found.shape.size();
  if (dimensions != 1 && dimensions != 2)
    throw DataError("{}: expected tokens, or rows of tokens, found the shape {}: write reshape(-1)", where,
                    text_of_shape(found.shape));
  array.tokens = elements_of_shape(found.shape, bytes_of(array.element));
  if (array.tokens < 0) throw DataError("{}: shape {} overflows", where, text_of_shape(found.shape));
  const bool has_one_order = std::ranges::count_if(found.shape, [](int64_t extent) { return extent > 1; }) <= 1;
  if (found.fortran_order && !has_one_order)
    throw DataError("{}: expected rows in C order, found Fortran order: write numpy.ascontiguousarray()", where);
  if (dimensions == 2) array.row_tokens = found.shape[1];
  return array;
}

}  // namespace segue

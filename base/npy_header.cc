// A reader of the few forms of a Python dictionary that NumPy writes, and of nothing else.
#include "base/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

namespace segue {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kVersionAt = kNpyMagic.size();
constexpr size_t kLengthAt = kVersionAt + 2;
constexpr size_t kLongestHeaderShown = 40;
constexpr size_t kMostExtents = 64;  // NumPy's own limit

class NpyDictionary {
 public:
  NpyDictionary(std::string_view text, const std::string& where, RaiseError raise)
      : rest_(text), where_(where), raise_(raise) {}

  NpyDescription read() {
    expect("{");
    while (!accept("}")) {
      read_entry();
      if (!accept(",") && !next_is("}")) expect(",");
    }
    skip_blanks();
    if (!rest_.empty()) fail("nothing after the dictionary");
    if (!dtype_ || !fortran_order_ || !shape_) fail("the keys 'descr', 'fortran_order' and 'shape'");
    return {*dtype_, *fortran_order_, *shape_, 0};
  }

 private:
  void read_entry() {
    const std::string_view key = text();
    expect(":");
    if (key == "descr" && !dtype_) {
      if (!next_is("'")) raise_(fmt::format("{}: expected elements of one number each, found a structure", where_));
      dtype_ = text();
    } else if (key == "fortran_order" && !fortran_order_) {
      fortran_order_ = accept("True");
      if (!*fortran_order_) expect("False");
    } else if (key == "shape" && !shape_) {
      shape_ = read_shape();
    } else {
      fail("the keys 'descr', 'fortran_order' and 'shape', each once");
    }
  }

  std::vector<int64_t> read_shape() {
    std::vector<int64_t> shape;
    expect("(");
    while (!accept(")")) {
      if (shape.size() == kMostExtents)
        raise_(fmt::format("{}: shape: expected at most {} extents, found more", where_, kMostExtents));
      shape.push_back(extent());
      if (!accept(",") && !next_is(")")) expect(",");
    }
    return shape;
  }

  int64_t extent() {
    skip_blanks();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) fail("an extent of 0 or more");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  std::string_view text() {
    expect("'");
    const size_t end = rest_.find('\'');
    if (end == std::string_view::npos) fail("'");
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return found;
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }

  bool next_is(std::string_view word) {
    skip_blanks();
    return rest_.starts_with(word);
  }

  bool accept(std::string_view word) {
    if (!next_is(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void expect(std::string_view word) {
    if (!accept(word)) fail(word);
  }

  void fail(std::string_view expected) const {
    raise_(fmt::format("{}: header: expected {}, found \"{}\"", where_, expected,
                       printable_line(rest_, kLongestHeaderShown)));
  }

  std::string_view rest_;
  const std::string& where_;
  RaiseError raise_;
  std::optional<std::string> dtype_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<int64_t>> shape_;
};

// The text between the length and the elements.
std::string_view dictionary_text(std::string_view file, const std::string& where, RaiseError raise) {
  if (file.size() <= kLengthAt || !file.starts_with(kNpyMagic))
    raise(fmt::format("{}: expected an array in NumPy's .npy format, found something else", where));
  const int version = static_cast<unsigned char>(file[kVersionAt]);
  if (version < 1 || version > 3) raise(fmt::format("{}: expected .npy version 1 to 3, found {}", where, version));
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t begin = kLengthAt + length_bytes;
  uint32_t length = 0;
  if (file.size() >= begin) std::memcpy(&length, file.data() + kLengthAt, length_bytes);
  if (file.size() < begin || file.size() - begin < length)
    raise(fmt::format("{}: states a header of {} bytes, expected at most {}", where, length,
                      file.size() - std::min(begin, file.size())));
  return file.substr(begin, length);
}

}  // namespace

NpyDescription read_npy_description(std::span<const std::byte> begin, const std::string& where, RaiseError raise) {
  const std::string_view file(reinterpret_cast<const char*>(begin.data()), begin.size());
  const std::string_view text = dictionary_text(file, where, raise);
  NpyDescription description = NpyDictionary(text, where, raise).read();
  description.header_bytes = text.data() + text.size() - file.data();
  return description;
}

int64_t elements_of_shape(const std::vector<int64_t>& shape, int64_t element_bytes) {
  int64_t elements = 1;
  int64_t bytes = element_bytes;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(elements, extent, &elements) || __builtin_mul_overflow(bytes, extent, &bytes)) return -1;
  }
  return elements;
}

std::string text_of_shape(const std::vector<int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace segue

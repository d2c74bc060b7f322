// A reader of the few forms of a Python dictionary that NumPy writes, and of nothing else.
#include "core/convert/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/json_text.h"

namespace segue {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kVersionAt = kMagic.size();
constexpr size_t kLengthAt = kVersionAt + 2;
constexpr size_t kLongestShown = 40;

struct Description {
  std::string_view name;
  DType dtype;
};
constexpr std::array kDescriptions = {Description{"<f4", DType::kFloat32}, Description{"<f8", DType::kFloat64},
                                      Description{"<f2", DType::kFloat16}, Description{"<i4", DType::kInt32},
                                      Description{"<i8", DType::kInt64}};

class Dictionary {
 public:
  Dictionary(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  NpyHeader read() {
    expect("{");
    while (!accept("}")) {
      read_entry();
      if (!accept(",") && !next_is("}")) expect(",");
    }
    skip_blanks();
    if (!rest_.empty()) fail("nothing after the dictionary");
    if (!dtype_ || !ordered_ || !shape_) fail("the keys 'descr', 'fortran_order' and 'shape'");
    return {*dtype_, *shape_, 0};
  }

 private:
  void read_entry() {
    const std::string_view key = text();
    expect(":");
    if (key == "descr" && !dtype_) {
      dtype_ = read_dtype();
    } else if (key == "fortran_order" && !ordered_) {
      if (accept("True")) throw CheckpointError("{}: expected an array in C order, found Fortran order", where_);
      expect("False");
      ordered_ = true;
    } else if (key == "shape" && !shape_) {
      shape_ = read_shape();
    } else {
      fail("the keys 'descr', 'fortran_order' and 'shape', each once");
    }
  }

  DType read_dtype() {
    if (!next_is("'")) throw CheckpointError("{}: expected elements of one number each, found a structure", where_);
    const std::string_view name = text();
    for (const Description& known : kDescriptions) {
      if (known.name == name) return known.dtype;
    }
    if (name == "|O")
      throw CheckpointError("{}: holds pickled Python objects (dtype object), which are not read", where_);
    throw CheckpointError("{}: dtype: expected <f4, <f8, <f2, <i4 or <i8, found {}", where_,
                          printable_line(name, kLongestShown));
  }

  Shape read_shape() {
    Shape shape;
    expect("(");
    while (!accept(")")) {
      if (shape.rank() == Shape::kMaxRank)
        throw CheckpointError("{}: shape: expected at most {} extents, found more", where_, Shape::kMaxRank);
      shape.append(extent());
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

  [[noreturn]] void fail(std::string_view expected) const {
    throw CheckpointError("{}: header: expected {}, found \"{}\"", where_, expected,
                          printable_line(rest_, kLongestShown));
  }

  std::string_view rest_;
  const std::string& where_;
  std::optional<DType> dtype_;
  std::optional<bool> ordered_;
  std::optional<Shape> shape_;
};

// The text between the length and the elements.
std::string_view dictionary_text(std::string_view file, const std::string& where) {
  if (file.size() <= kLengthAt || !file.starts_with(kMagic))
    throw CheckpointError("{}: expected an array in NumPy's .npy format, found something else", where);
  const int version = static_cast<unsigned char>(file[kVersionAt]);
  if (version < 1 || version > 3) throw CheckpointError("{}: expected .npy version 1 to 3, found {}", where, version);
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t begin = kLengthAt + length_bytes;
  uint32_t length = 0;
  if (file.size() >= begin) std::memcpy(&length, file.data() + kLengthAt, length_bytes);
  if (file.size() < begin || file.size() - begin < length)
    throw CheckpointError("{}: states a header of {} bytes, expected at most {}", where, length,
                          file.size() - std::min(begin, file.size()));
  return file.substr(begin, length);
}

void check_size(const NpyHeader& header, const std::string& where) {
  int64_t bytes = bytes_of(header.dtype);
  for (int i = 0; i < header.shape.rank(); ++i) {
    if (__builtin_mul_overflow(bytes, header.shape[i], &bytes))
      throw CheckpointError("{}: shape {} overflows", where, header.shape.text());
  }
}

}  // namespace

NpyHeader read_npy_header(std::span<const std::byte> begin, const std::string& where) {
  const std::string_view file(reinterpret_cast<const char*>(begin.data()), begin.size());
  const std::string_view text = dictionary_text(file, where);
  NpyHeader header = Dictionary(text, where).read();
  check_size(header, where);
  header.bytes = text.data() + text.size() - file.data();
  return header;
}

}  // namespace segue

// The reader: every statement of the header is checked against the file before a view is handed out.
#include "core/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "base/document_kind.h"
#include "base/error.h"
#include "base/json_fields.h"
#include "base/text.h"

namespace segue {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian and is mapped as it lies");

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = uint64_t{16} << 20;  // a model of 100,000 tensors needs about 10 MiB
constexpr const char* kMetadataKey = "__metadata__";

struct DTypeName {
  DType dtype;
  std::string_view name;
};
constexpr std::array kDTypeNames = {
    DTypeName{DType::kFloat64, "F64"},   DTypeName{DType::kFloat32, "F32"}, DTypeName{DType::kFloat16, "F16"},
    DTypeName{DType::kBFloat16, "BF16"}, DTypeName{DType::kInt64, "I64"},   DTypeName{DType::kInt32, "I32"},
    DTypeName{DType::kUInt32, "U32"},    DTypeName{DType::kUInt16, "U16"},  DTypeName{DType::kUInt8, "U8"}};

// The header's statement about a tensor, not yet believed.
struct StatedTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> data_offsets;
  void describe(JsonFields& fields) {
    fields.required("dtype", dtype, {.meaning = "element type"});
    fields.required("shape", shape, {.meaning = "extents, outermost first", .minimum = 0});
    fields.required("data_offsets", data_offsets, {.meaning = "first byte and the one after the last", .minimum = 0});
  }
};

// The same, checked. `where` names file and tensor in messages.
struct Entry {
  std::string name;
  std::string where;
  DType dtype = DType::kFloat32;
  Shape shape;
  int64_t begin = 0;
  int64_t end = 0;
};

std::string_view header_of(const std::string& source, std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes) {
    throw CheckpointError("{}: {} bytes, expected a safetensors file of at least {}", source, bytes.size(),
                          kLengthBytes);
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes) {
    const std::string found = describe_path(source);
    if (!found.empty() && !found.starts_with("weights") && !found.starts_with("a file of"))
      throw CheckpointError("{}: expected a safetensors file, found {}", source, found);
    throw CheckpointError("{}: states a header of {} bytes, expected at most {}; is it a safetensors file?", source,
                          length, kMaxHeaderBytes);
  }
  if (length > bytes.size() - kLengthBytes) {
    throw CheckpointError("{}: states a header of {} bytes, found {} after the length: it is cut off", source, length,
                          bytes.size() - kLengthBytes);
  }
  return {reinterpret_cast<const char*>(bytes.data() + kLengthBytes), static_cast<size_t>(length)};
}

// What to do with weights of other types.
std::string_view advice_on(std::string_view name) {
  if (name.starts_with("F8_") || name.starts_with("F6_") || name.starts_with("F4"))
    return ": small floats that mean nothing without their scales; save them times these as BF16, F16 or F32";
  if (name == "I8") return ": quantized weights; dequantize them, or take the weights that they were made of";
  return "";
}

DType dtype_from(const std::string& name, const std::string& where) {
  for (const DTypeName& known : kDTypeNames) {
    if (known.name == name) return known.dtype;
  }
  throw CheckpointError("{}: dtype: expected F64, F32, F16, BF16, I64, I32, U32, U16 or U8, found {}{}", where,
                        describe_json(name), advice_on(name));
}

Shape shape_from(const std::vector<int64_t>& extents, const std::string& where) {
  if (extents.size() > static_cast<size_t>(Shape::kMaxRank)) {
    throw CheckpointError("{}: shape: expected at most {} extents, found {}", where, Shape::kMaxRank, extents.size());
  }
  Shape shape;
  for (const int64_t extent : extents) shape.append(extent);
  return shape;
}

// The product of the extents times the element size, or nothing when it exceeds 63 bits on the way.
std::optional<int64_t> bytes_needed(const Shape& shape, DType dtype) {
  int64_t bytes = bytes_of(dtype);
  for (int i = 0; i < shape.rank(); ++i) {
    if (__builtin_mul_overflow(bytes, shape[i], &bytes)) return std::nullopt;
  }
  return bytes;
}

void check_extent(const Entry& entry, int64_t data_bytes) {
  if (entry.begin > entry.end || entry.end > data_bytes) {
    throw CheckpointError("{}: data_offsets [{}, {}], expected increasing and within the {} bytes of data", entry.where,
                          entry.begin, entry.end, data_bytes);
  }
  const std::optional<int64_t> needed = bytes_needed(entry.shape, entry.dtype);
  if (!needed) throw CheckpointError("{}: shape {} overflows", entry.where, entry.shape.text());
  if (entry.end - entry.begin != *needed) {
    throw CheckpointError("{}: shape {} of {} needs {} bytes, found {}", entry.where, entry.shape.text(),
                          name_of(entry.dtype), *needed, entry.end - entry.begin);
  }
}

Entry entry_from(const std::string& source, const std::string& name, const Json& value) {
  Entry entry;
  entry.name = name;
  entry.where = fmt::format("{}: tensor {}", source, describe_json(name));
  const auto stated = read_fields<CheckpointError, StatedTensor>(value, entry.where);
  if (stated.data_offsets.size() != 2) {
    throw CheckpointError("{}: data_offsets: expected [begin, end], found {} numbers", entry.where,
                          stated.data_offsets.size());
  }
  entry.dtype = dtype_from(stated.dtype, entry.where);
  entry.shape = shape_from(stated.shape, entry.where);
  entry.begin = stated.data_offsets[0];
  entry.end = stated.data_offsets[1];
  return entry;
}

Metadata metadata_from(const std::string& source, const Json& value) {
  if (!value.is_object()) {
    throw CheckpointError("{}: {}: expected an object, found {}", source, kMetadataKey, describe_json(value));
  }
  Metadata metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      throw CheckpointError("{}: {}: expected a string, found {}", source, join_json_path(kMetadataKey, key),
                            describe_json(text));
    }
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

// A file whose last tensors are missing.
void check_whole(const std::string& source, const std::vector<Entry>& entries, size_t file_bytes, int64_t data_bytes) {
  int64_t end = 0;
  for (const Entry& entry : entries) end = std::max(end, entry.end);
  if (end <= data_bytes) return;
  throw CheckpointError("{}: is cut off: {} bytes of {}", source, file_bytes,
                        static_cast<uint64_t>(file_bytes) + static_cast<uint64_t>(end - data_bytes));
}

// The tensors must tile the data: in order of their offsets each begins where the one before ended.
void check_tiling(const std::string& source, std::vector<Entry>& entries, int64_t data_bytes) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  int64_t expected = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != expected) {
      throw CheckpointError("{}: data_offsets begin at {}, expected {}: {}", entry.where, entry.begin, expected,
                            entry.begin < expected ? "it overlaps another tensor" : "bytes before it belong to none");
    }
    expected = entry.end;
  }
  if (expected != data_bytes) {
    throw CheckpointError("{}: {} bytes of data, its tensors end at {}", source, data_bytes, expected);
  }
}

}  // namespace

std::string_view safetensors_name_of(DType dtype) {
  for (const DTypeName& known : kDTypeNames) {
    if (known.dtype == dtype) return known.name;
  }
  throw ContractError("safetensors has no name for {}", name_of(dtype));
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : source_(path.string()), file_(std::make_unique<const MappedFile>(path)) {
  read(file_->bytes());
}

SafetensorsFile::SafetensorsFile(std::string source, std::span<const std::byte> bytes) : source_(std::move(source)) {
  read(bytes);
}

void SafetensorsFile::read(std::span<const std::byte> bytes) {
  const std::string_view header = header_of(source_, bytes);
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + header.size());
  const auto data_bytes = static_cast<int64_t>(data.size());
  const Json json = parse_json<CheckpointError>(header, source_);
  if (!json.is_object())
    throw CheckpointError("{}: header: expected an object, found {}", source_, describe_json(json));
  std::vector<Entry> entries;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadataKey) {
      metadata_ = metadata_from(source_, value);
    } else {
      entries.push_back(entry_from(source_, name, value));
    }
  }
  check_whole(source_, entries, bytes.size(), data_bytes);
  for (const Entry& entry : entries) check_extent(entry, data_bytes);
  check_tiling(source_, entries, data_bytes);
  for (const Entry& entry : entries) {
    ConstTensorView view{data.data() + entry.begin, entry.dtype, entry.shape};
    if (reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(bytes_of(entry.dtype)) != 0 && !view.empty()) {
      OwnedTensor& copy = aligned_copies_.emplace_back(entry.dtype, entry.shape);
      std::memcpy(copy.view().data, view.data, static_cast<size_t>(view.bytes()));
      view = std::as_const(copy).view();
    }
    tensors_.emplace(entry.name, view);
  }
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, view] : tensors_) names.push_back(name);
  return names;
}

ConstTensorView SafetensorsFile::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string_view> candidates;
  for (const auto& [known, view] : tensors_) candidates.emplace_back(known);
  const std::string_view nearest = nearest_word(name, candidates);
  throw CheckpointError("{}: expected a tensor {}, found {}{}", source_, name, counted(std::ssize(tensors_), "other"),
                        nearest.empty() ? "" : fmt::format(", the nearest {}", nearest));
}

ConstTensorView SafetensorsFile::tensor(const std::string& name, DType dtype, const Shape& shape) const {
  const ConstTensorView found = tensor(name);
  if (found.dtype != dtype || found.shape != shape) {
    throw CheckpointError("{}: tensor {}: expected {} {}, found {} {}", source_, name, name_of(dtype), shape.text(),
                          name_of(found.dtype), found.shape.text());
  }
  return found;
}

}  // namespace segue

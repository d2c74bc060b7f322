// The writer: a header padded to 8 bytes, then the data in one pass with their checksum.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/unfinished_output.h"
#include "core/checkpoint/safetensors.h"

namespace segue {

namespace {

constexpr size_t kAlignment = 8;

void check_names(std::span<const NamedTensor> tensors) {
  std::set<std::string_view> seen{"__metadata__"};
  for (const NamedTensor& tensor : tensors) {
    if (!seen.insert(tensor.name).second) throw ContractError("two tensors named {} in one file", tensor.name);
  }
}

std::vector<NamedTensor> by_element_size(std::span<const NamedTensor> tensors) {
  std::vector<NamedTensor> ordered(tensors.begin(), tensors.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return bytes_of(a.tensor.dtype) > bytes_of(b.tensor.dtype);
  });
  return ordered;
}

nlohmann::json extents_of(const Shape& shape) {
  nlohmann::json extents = nlohmann::json::array();
  for (int i = 0; i < shape.rank(); ++i) extents.push_back(shape[i]);
  return extents;
}

// The 8 bytes of the length and the header itself, spaces at its end up to the alignment.
std::string header_of(std::span<const NamedTensor> tensors, const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t begin = 0;
  for (const auto& [name, tensor] : tensors) {
    const int64_t end = begin + tensor.bytes();
    header[name] = {{"dtype", safetensors_name_of(tensor.dtype)},
                    {"shape", extents_of(tensor.shape)},
                    {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

class ChecksummedWriter {
 public:
  explicit ChecksummedWriter(const std::filesystem::path& path) : file_(path) {}
  void write(std::span<const std::byte> bytes) {
    file_.write(bytes);
    checksum_.update(bytes);
    written_ += static_cast<int64_t>(bytes.size());
  }
  WrittenFile finish() {
    file_.sync_and_close();
    return {written_, checksum_.text()};
  }

 private:
  FileWriter file_;
  Checksum checksum_;
  int64_t written_ = 0;
};

WrittenFile write_in_place(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                           const Metadata& metadata) {
  ChecksummedWriter writer(path);
  const std::string header = header_of(tensors, metadata);
  writer.write(std::as_bytes(std::span(header)));
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.empty()) writer.write({tensor.data, static_cast<size_t>(tensor.bytes())});
  }
  return writer.finish();
}

}  // namespace

WrittenFile write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                              const Metadata& metadata) {
  check_names(tensors);
  const std::filesystem::path target = file_to_replace(path);
  const std::filesystem::path beside = target.string() + ".partial";
  UnfinishedOutput output(beside, target);
  try {
    WrittenFile written = write_in_place(beside, by_element_size(tensors), metadata);
    output.publish([&] { rename_durably(beside, target); });
    return written;
  } catch (const FileError&) {
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    throw;
  }
}

}  // namespace segue

// Reading and writing by the list of names.
#include "core/exchange/transformer_xl.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "core/exchange/to_float32.h"
#include "core/exchange/transformer_xl_args.h"
#include "core/exchange/transformer_xl_names.h"

namespace segue {

namespace {

void check_shape(const std::string& where, const Shape& expected, const Shape& found) {
  if (expected != found) throw CheckpointError("{}: expected {}, found {}", where, expected.text(), found.text());
}

bool are_identical(ConstTensorView a, ConstTensorView b) {
  return a.dtype == b.dtype && std::memcmp(a.data, b.data, static_cast<size_t>(a.bytes())) == 0;
}

// The tensor under any of its original names; where several are present they must be one and the same.
ConstTensorView find(const SafetensorsFile& file, const TensorNames& names) {
  std::vector<std::string> present;
  std::copy_if(names.original.begin(), names.original.end(), std::back_inserter(present),
               [&file](const std::string& name) { return file.contains(name); });
  const ConstTensorView first = file.tensor(present.empty() ? names.original.front() : present.front());
  for (const std::string& name : present) {
    const ConstTensorView copy = file.tensor(name);
    check_shape(fmt::format("{}: tensor {}", file.source(), name), names.shape, copy.shape);
    if (!are_identical(first, copy)) {
      throw CheckpointError("{}: tensors {} and {}: expected the same values, as the arguments tie them; they differ",
                            file.source(), present.front(), name);
    }
  }
  return first;
}

void check_no_others(const SafetensorsFile& file, const std::vector<TensorNames>& expected) {
  std::set<std::string> known{kOriginalFrequencies};
  for (const TensorNames& names : expected) known.insert(names.original.begin(), names.original.end());
  for (const std::string& name : file.names()) {
    if (!known.contains(name)) {
      throw CheckpointError("{}: tensor {} is not one of a Transformer-XL with these arguments", file.source(), name);
    }
  }
}

std::vector<std::string> notes_of(const std::string& source, const std::map<DType, int64_t>& converted) {
  std::vector<std::string> notes;
  notes.reserve(converted.size());
  for (const auto& [dtype, count] : converted) {
    notes.push_back(fmt::format("{}: {} tensors converted from {} to float32", source, count, name_of(dtype)));
  }
  return notes;
}

}  // namespace

ImportedModel import_transformer_xl(const std::filesystem::path& model_path, const std::filesystem::path& args_path) {
  TransformerXlArguments arguments = read_transformer_xl_args(args_path);
  const SafetensorsFile file(model_path);
  const std::vector<TensorNames> expected = transformer_xl_names(arguments.model, arguments.vocab_size);
  ImportedModel imported{std::move(arguments.model), arguments.vocab_size, arguments.tgt_len, {}, {}};
  std::map<DType, int64_t> converted;
  for (const TensorNames& names : expected) {
    const ConstTensorView found = find(file, names);
    const std::string where = fmt::format("{}: tensor {}", file.source(), names.original.front());
    imported.tensors.push_back({names.segue, to_float32(found, where)});
    if (found.dtype != DType::kFloat32) ++converted[found.dtype];
  }
  check_no_others(file, expected);
  imported.notes = notes_of(file.source(), converted);
  return imported;
}

void export_transformer_xl(const ModelConfig& model, int64_t vocab_size, std::span<const NamedTensor> tensors,
                           const std::filesystem::path& path) {
  check_original_computes(model);
  std::map<std::string_view, ConstTensorView> given;
  for (const NamedTensor& tensor : tensors) given.emplace(tensor.name, tensor.tensor);
  std::vector<NamedTensor> exported;
  for (const TensorNames& names : transformer_xl_names(model, vocab_size)) {
    const auto found = given.find(names.segue);
    if (found == given.end()) throw CheckpointError("export to {}: expected a tensor {}", path.string(), names.segue);
    check_shape(fmt::format("export to {}: tensor {}", path.string(), names.segue), names.shape, found->second.shape);
    for (const std::string& original : names.original) exported.push_back({original, found->second});
    given.erase(found);
  }
  if (!given.empty()) {
    throw CheckpointError("export to {}: tensor {} has no name in the original", path.string(), given.begin()->first);
  }
  write_safetensors(path, exported, {{"format", "pt"}});
}

}  // namespace segue

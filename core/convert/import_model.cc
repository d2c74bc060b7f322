#include "core/convert/import_model.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "core/convert/arguments.h"
#include "core/convert/finite_weights.h"
#include "core/convert/import_settings.h"
#include "core/convert/tensor_names.h"
#include "core/convert/to_float32.h"
#include "core/convert/transpose.h"
#include "core/convert/weight_file.h"

namespace segue {

namespace {

bool are_identical(ConstTensorView a, ConstTensorView b) {
  return a.dtype == b.dtype && std::memcmp(a.data, b.data, static_cast<size_t>(a.bytes())) == 0;
}

// What to do about weights that are kept in parts, which another program has to put together.
std::string_view advice_on_part(std::string_view name) {
  struct Known {
    std::string_view part;
    std::string_view advice;
  };
  static constexpr Known kParts[] = {
      {".parametrizations.", "it is computed from parts: remove_parametrizations, then save the weights again"},
      {".weight_g", "it is computed from parts, by weight_norm: remove_weight_norm, then save the weights again"},
      {".weight_v", "it is computed from parts, by weight_norm: remove_weight_norm, then save the weights again"},
      {"lora_", "it is an adapter: merge_and_unload(), then save the weights again"},
      {"_flat_param", "FSDP keeps its weights in one piece: save them with StateDictType.FULL_STATE_DICT"},
      {".qweight", "its weights are quantized: take those that they were made of"},
      {".SCB", "its weights are quantized: take those that they were made of"}};
  for (const Known& known : kParts)
    if (name.find(known.part) != std::string_view::npos) return known.advice;
  return "";
}

Shape with_first_extent(const Shape& shape, int64_t extent) {
  Shape result{extent};
  for (int i = 1; i < shape.rank(); ++i) result.append(shape[i]);
  return result;
}

// Takes tensors out of a file, and remembers what was taken and converted.
class Importer {
 public:
  Importer(WeightFormat format, const WeightFile& file, const std::vector<ForeignTensor>& tensors)
      : format_(format), file_(file) {
    for (const ForeignTensor& tensor : tensors) known_.insert(tensor.names.begin(), tensor.names.end());
  }

  OwnedTensor take(const ForeignTensor& tensor, int64_t n_layer) {
    switch (tensor.layout) {
      case TensorLayout::kSame:
        return read_copies(tensor.names, tensor.shape);
      case TensorLayout::kTransposed:
        return transposed(read_copies(tensor.names, {tensor.shape[1], tensor.shape[0]}).view());
      case TensorLayout::kLayerOfStack:
        return layer_of_stack(tensor, n_layer);
      case TensorLayout::kConcatenated:
        return concatenated(tensor);
    }
    throw ContractError("unknown layout");
  }

  void check_names(const std::vector<ForeignTensor>& tensors) {
    for (const ForeignTensor& tensor : tensors) {
      const auto is_present = [this](const std::string& name) { return file_.contains(name); };
      if (std::none_of(tensor.names.begin(), tensor.names.end(), is_present)) refuse_missing(tensor.names.front());
    }
    for (const std::string& name : file_.names()) {
      if (known_.contains(name) || name == frequencies_name(format_)) continue;
      if (!belongs_to_optimizer(format_, name))
        throw CheckpointError("{}: tensor {} is not one of a Transformer-XL with these arguments{}", file_.source(),
                              name, hint());
      ++optimizer_tensors_;
    }
  }

  void add_notes(std::vector<std::string>& notes) const {
    for (const auto& [dtype, count] : converted_) {
      notes.push_back(
          fmt::format("{}: {} tensors converted from {} to float32", file_.source(), count, name_of(dtype)));
    }
    if (optimizer_tensors_ > 0)
      notes.push_back(fmt::format("{}: passed over {} tensors of the optimizer", file_.source(), optimizer_tensors_));
    for (std::string& note : file_.notes()) notes.push_back(std::move(note));
  }

 private:
  OwnedTensor read(const std::string& name, const Shape& shape) {
    const HostTensor found = read_checked(name, shape);
    return converted(found.view(), name);
  }

  HostTensor read_checked(const std::string& name, const Shape& shape) const {
    if (!file_.contains(name)) refuse_missing(name);
    if (const Shape found = file_.shape(name); found != shape)
      throw CheckpointError("{}: tensor {}: expected {}, found {}", file_.source(), name, shape.text(), found.text());
    return file_.read(name);
  }

  // The file itself knows the nearest of its names.
  void refuse_missing(const std::string& name) const {
    if (hint().empty()) file_.shape(name);
    throw CheckpointError("{}: expected a tensor {}, found none{}", file_.source(), name, hint());
  }

  OwnedTensor converted(ConstTensorView found, const std::string& name) {
    if (found.dtype != DType::kFloat32) ++converted_[found.dtype];
    const std::string where = fmt::format("{}: tensor {}", file_.source(), name);
    OwnedTensor weights = to_float32(found, where);
    check_finite(std::as_const(weights).view(), where);
    return weights;
  }

  // The tensor under any of its names; where several are present they must be one and the same.
  OwnedTensor read_copies(const std::vector<std::string>& names, const Shape& shape) {
    const auto is_present = [this](const std::string& name) { return file_.contains(name); };
    const auto first = std::find_if(names.begin(), names.end(), is_present);
    const std::string& name = first == names.end() ? names.front() : *first;
    const HostTensor found = read_checked(name, shape);
    for (auto other = first; other != names.end(); ++other) {
      if (other == first || !is_present(*other)) continue;
      if (!are_identical(found.view(), read_checked(*other, shape).view()))
        throw CheckpointError("{}: tensors {} and {}: expected the same values, as the arguments tie them; they differ",
                              file_.source(), name, *other);
    }
    return converted(found.view(), name);
  }

  OwnedTensor layer_of_stack(const ForeignTensor& tensor, int64_t n_layer) {
    Shape whole{n_layer};
    for (int i = 0; i < tensor.shape.rank(); ++i) whole.append(tensor.shape[i]);
    const OwnedTensor stack = read(tensor.names.front(), whole);
    OwnedTensor row(DType::kFloat32, tensor.shape);
    copy_tensor(row.view(), std::as_const(stack).view().rows(tensor.row, 1).reshaped(tensor.shape), Device{});
    return row;
  }

  OwnedTensor concatenated(const ForeignTensor& tensor) {
    OwnedTensor whole(DType::kFloat32, tensor.shape);
    int64_t begin = 0;
    for (size_t i = 0; i < tensor.parts.size(); ++i) {
      const OwnedTensor part = read(tensor.names[i], with_first_extent(tensor.shape, tensor.parts[i]));
      copy_tensor(whole.view().rows(begin, tensor.parts[i]), part.view(), Device{});
      begin += tensor.parts[i];
    }
    return whole;
  }

  // Said when weights are kept in parts, and when the names are those of another program.
  std::string hint() const {
    const std::vector<std::string> names = file_.names();
    for (const std::string& name : names)
      if (const std::string_view advice = advice_on_part(name); !advice.empty())
        return fmt::format("; {}: {}", name, advice);
    const WeightFormat looks_like = format_of_names(names, format_);
    return looks_like == format_ ? ""
                                 : fmt::format("; the names are those of --from {}",
                                               choices_of(looks_like)[static_cast<size_t>(looks_like)]);
  }

  WeightFormat format_;
  const WeightFile& file_;
  std::set<std::string> known_;
  std::map<DType, int64_t> converted_;
  int64_t optimizer_tensors_ = 0;
};

}  // namespace

ImportedModel import_model(WeightFormat format, const std::filesystem::path& model_path,
                           const std::filesystem::path& args_path) {
  ForeignArguments arguments = read_arguments(format, args_path);
  const std::unique_ptr<const WeightFile> file = open_weight_file(model_path);
  ImportedModel imported{.model = std::move(arguments.model),
                         .vocab_size = arguments.vocab_size,
                         .tgt_len = arguments.tgt_len,
                         .tensors = {},
                         .settings = {},
                         .notes = std::move(arguments.notes)};
  const std::vector<ForeignTensor> tensors = foreign_tensors(format, imported.model, imported.vocab_size);
  Importer importer(format, *file, tensors);
  importer.check_names(tensors);  // before anything is unpacked
  for (const ForeignTensor& tensor : tensors)
    imported.tensors.push_back({tensor.segue, importer.take(tensor, imported.model.n_layer)});
  importer.add_notes(imported.notes);
  imported.settings = import_settings(format, imported.model);
  return imported;
}

}  // namespace segue

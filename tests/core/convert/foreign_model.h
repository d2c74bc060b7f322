// Models as tests of importers and exporters make them: tensors by name, and small configs.
#pragma once

#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/checkpoint/safetensors.h"
#include "core/convert/import_model.h"
#include "core/model/parameter_specs.h"

namespace segue {

struct HeldTensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<std::byte> bytes;

  ConstTensorView view() const { return {bytes.data(), dtype, shape}; }
  bool operator==(const HeldTensor&) const = default;
};
using HeldTensors = std::map<std::string, HeldTensor>;

inline HeldTensor held(ConstTensorView view) { return {view.dtype, view.shape, {view.data, view.data + view.bytes()}}; }

inline HeldTensor held(const std::vector<float>& values, const Shape& shape) {
  return held(view_of(values.data(), shape));
}

// Values that no two tensors and no two elements of one have in common.
inline HeldTensor distinct_values(int64_t tensor, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(tensor) + 0.0001F * static_cast<float>(i + 1);
  return held(values, shape);
}

inline std::vector<NamedTensor> named(const HeldTensors& tensors) {
  std::vector<NamedTensor> list;
  for (const auto& [name, tensor] : tensors) list.push_back({name, tensor.view()});
  return list;
}

inline HeldTensors read_tensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  HeldTensors tensors;
  for (const std::string& name : file.names()) tensors[name] = held(file.tensor(name));
  return tensors;
}

inline HeldTensors tensors_of(const ImportedModel& imported) {
  HeldTensors tensors;
  for (const ImportedTensor& tensor : imported.tensors) tensors[tensor.name] = held(tensor.values.view());
  return tensors;
}

// A model's parameters under Segue's names.
inline HeldTensors parameters_of(const ModelConfig& model, int64_t vocab_size) {
  HeldTensors tensors;
  for (const ParameterSpec& spec : parameter_specs(model, vocab_size))
    tensors[spec.name] = distinct_values(std::ssize(tensors) + 1, spec.shape);
  return tensors;
}

}  // namespace segue

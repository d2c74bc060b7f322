#include "core/convert/export_model.h"

#include <cmath>
#include <deque>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/output_file.h"
#include "core/config/memory_kind.h"
#include "core/convert/arguments.h"
#include "core/convert/tensor_names.h"
#include "core/convert/transpose.h"
#include "core/head/vocabulary_clusters.h"

namespace segue {

namespace {

bool reverses_clusters(WeightFormat format, const HeadConfig& head) {
  return head.cutoffs.size() > 1 && head.cluster_order != traits_of(format).cluster_order;
}

// As PyTorch computes them, step by step in single precision.
OwnedTensor frequencies(int64_t d_model) {
  OwnedTensor result(DType::kFloat32, {d_model / 2});
  for (int64_t i = 0; i < d_model / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(d_model);
    result.as<float>()[i] = 1.0F / std::pow(10000.0F, exponent);
  }
  return result;
}

std::vector<std::string> notes_of(WeightFormat format, const ModelConfig& model) {
  const FormatTraits& traits = traits_of(format);
  std::vector<std::string> notes;
  if (reverses_clusters(format, model.head))
    notes.push_back(fmt::format("cluster rows are written in reverse, as {} reads them", traits.program));
  if (model.memory.initial != traits.initial_memory)
    notes.push_back(fmt::format(
        "this model starts with model.memory.initial {}, {} with {}: the losses of the first segments differ",
        name_of_choice(model.memory.initial), traits.program, name_of_choice(traits.initial_memory)));
  if (model.memory.kind != MemoryConfig{}.kind)
    notes.push_back(fmt::format(
        "this model was trained with model.memory.kind {}, {} has {}: the same losses until training goes on there",
        name_of_choice(model.memory.kind), traits.program, name_of_choice(MemoryConfig{}.kind)));
  return notes;
}

}  // namespace

std::vector<std::string> export_weights(WeightFormat format, const ModelConfig& model, int64_t vocab_size,
                                        std::span<const NamedTensor> tensors, const std::filesystem::path& path) {
  check_exportable(format, model);
  std::map<std::string_view, ConstTensorView> given;
  for (const NamedTensor& tensor : tensors) given.emplace(tensor.name, tensor.tensor);
  std::vector<NamedTensor> exported;
  std::deque<OwnedTensor> reversed;  // a deque: views into it stay
  for (const ForeignTensor& tensor : foreign_tensors(format, model, vocab_size)) {
    const auto found = given.find(tensor.segue);
    if (found == given.end()) throw CheckpointError("export to {}: expected a tensor {}", path.string(), tensor.segue);
    if (found->second.shape != tensor.shape)
      throw CheckpointError("export to {}: tensor {}: expected {}, found {}", path.string(), tensor.segue,
                            tensor.shape.text(), found->second.shape.text());
    ConstTensorView view = found->second;
    if (reverses_clusters(format, model.head) && (tensor.segue == kClusterWeight || tensor.segue == kClusterBias))
      view = std::as_const(reversed.emplace_back(with_rows_reversed(view))).view();
    for (const std::string& name : tensor.names) exported.push_back({name, view});
    given.erase(found);
  }
  if (!given.empty())
    throw CheckpointError("export to {}: tensor {} is not one of the model's", path.string(), given.begin()->first);
  const OwnedTensor inverse_frequencies = frequencies(model.d_model);
  exported.push_back({std::string(frequencies_name(format)), inverse_frequencies.view()});
  write_safetensors(path, exported, {{"format", "pt"}, {"program", std::string(kExportedBy)}});
  return notes_of(format, model);
}

}  // namespace segue

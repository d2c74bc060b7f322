#include "core/config/carried.h"

#include <fmt/format.h>

#include "core/config/layers.h"

namespace segue {

std::vector<CarriedTensor> carried_tensors(const ModelConfig& model, int64_t layer) {
  switch (model.memory.kind) {
    case MemoryKind::kAssociative:
      return {{.name = fmt::format("associations.{}", layer),
               .shape = {model.n_head, 2 * model.d_head * model.memory.shifts, model.d_head},
               .change = CarriedChange::kAtEnds}};
    case MemoryKind::kInfini:  // behind a head's values the weights of their keys
      return {{.name = fmt::format("infini.{}", layer),
               .shape = {model.n_head, model.d_head, model.d_head + 1},
               .change = CarriedChange::kGathered}};
    case MemoryKind::kHiddenStates:
    case MemoryKind::kKeysValues:
    case MemoryKind::kTokens:
    case MemoryKind::kCompressed:
    case MemoryKind::kEncoder:
      break;
  }
  const ScoreConfig& score = score_of_layer(model, layer);
  if (score.kind != ScoreKind::kState) return {};
  const int64_t values = model.d_head + (score.output_norm == StateNorm::kWeights ? 1 : 0);
  std::vector<CarriedTensor> carried{
      {.name = fmt::format("states.{}", layer), .shape = {model.n_head, state_keys(model, score), values}}};
  if (score.convolution == 0) return carried;
  for (const char* name : {"q", "k", "v"})
    carried.push_back({.name = fmt::format("tails.{}.{}", name, layer),
                       .shape = {score.convolution - 1, model.n_head * model.d_head}});
  return carried;
}

Shape of_streams(int64_t streams, const Shape& shape) {
  Shape all{streams};
  for (int i = 0; i < shape.rank(); ++i) all.append(shape[i]);
  return all;
}

bool hands_on_states(const ModelConfig& model) {
  for (int64_t layer = 0; layer < model.n_layer; ++layer)
    if (!carried_tensors(model, layer).empty()) return true;
  return false;
}

}  // namespace segue

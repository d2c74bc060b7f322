#include "core/config/carried.h"

#include <fmt/format.h>

#include "core/config/layers.h"
#include "core/config/memory_row.h"
#include "core/config/score_kind.h"

namespace segue {

std::vector<CarriedTensor> carried_tensors(const ModelConfig& model, int64_t layer) {
  std::vector<CarriedTensor> of_memory = row_of(model.memory.kind).carried(model, layer);
  if (!of_memory.empty()) return of_memory;
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

// A tape that records nothing but the biases.
#include "core/model/distance_biases.h"

#include <algorithm>

#include "core/attention/layer_positions.h"

namespace segue {

namespace {

std::vector<std::vector<float>> rows_of(ConstTensorView biases) {
  std::vector<std::vector<float>> rows;
  for (int64_t n = 0; n < biases.shape[0]; ++n) {
    const float* row = biases.as<float>() + n * biases.shape[1];
    rows.emplace_back(row, row + biases.shape[1]);
  }
  return rows;
}

}  // namespace

bool has_distance_biases(const ModelConfig& model) {
  const LayerPositions positions(model);
  for (int64_t layer = 0; layer < model.n_layer; ++layer)
    if (positions.of_layer(layer).terms().biases) return true;
  return false;
}

DistanceBiases distance_biases(const ModelConfig& model, Parameters& parameters, int64_t distances) {
  if (!has_distance_biases(model)) return {};
  const LayerPositions positions(model);
  Arena arena;
  Tape tape(arena, Tape::Mode::kEvaluation);
  const LayerPositions::Encodings encodings =
      positions.encode(tape, use_of(model), distances, [](const PositionTerms& offered) { return offered.biases; });
  std::vector<Slot> slots;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const Value& encoding = encodings.layers[static_cast<size_t>(layer)];
    slots.push_back(positions.of_layer(layer).distance_biases(tape, parameters, layer, encoding, distances).data);
    if (slots.back().exists()) tape.keep(slots.back());
  }
  tape.seal();
  kernels::Queue queue(1);
  tape.forward(queue);
  DistanceBiases biases;
  for (const Slot slot : slots)
    biases.push_back(slot.exists() ? rows_of(tape.read(slot)) : std::vector<std::vector<float>>());
  if (std::ranges::all_of(biases, [&](const auto& layer) { return layer == biases.front(); })) biases.resize(1);
  return biases;
}

}  // namespace segue

// Tapes that run apart from segments while weights do not change: rows of distances, and keys and values of memories.
#include "core/config/layers.h"
#include "core/model/transformer.h"

namespace segue {

std::unique_ptr<FrozenTape> Transformer::record_frozen(Arena& arena, Parameters& parameters, const ModelUse& use,
                                                       int64_t streams, int64_t tgt_len) const {
  check_position_tables(config_, use, tgt_len, "positions");
  auto frozen = std::make_unique<FrozenTape>(arena, parameters.compute().activations);
  Tape& tape = frozen->tape;
  const auto keep = [&tape](const Value& value, std::vector<Slot>& slots) {
    if (value.data.exists()) tape.keep(value.data);
    slots.push_back(value.data);
  };
  const Remembered form = remembered_in_training(config_);
  const int64_t rows = use.starts_full() ? use.mem_len : 0;
  const OwnedTensor zeros(DType::kFloat32, {streams, rows, remembered_width(config_, form)});
  const Value initial{.data = tape.constant(zeros, tape.activations()), .gradient = {}};
  const LayerPositions::Encodings encodings = positions_.encode(
      tape, use, use.memory_rows() + use.rows_of(tgt_len), [](const PositionTerms& offered) { return offered.rows; });
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    const auto l = static_cast<size_t>(layer);
    if (keeps_state(config_, layer)) continue;
    keep(positions_.of_layer(layer).distances(tape, parameters, layer, encodings.layers[l]), frozen->distances);
    if (!use.starts_full()) continue;
    const ModelUse here = use_of_layer(config_, use, layer);
    const bool is_made = form == Remembered::kHiddenStates;  // zeros stay what they are however they are turned
    keep(is_made ? layers_[l]->keys_and_values(tape, parameters, initial, here) : initial, frozen->zeros);
  }
  tape.seal();
  return frozen;
}

std::unique_ptr<MemoryTape> Transformer::record_memory(Arena& arena, Parameters& parameters, const ModelUse& use,
                                                       const SegmentShape& shape, int64_t layer) const {
  auto memory = std::make_unique<MemoryTape>(arena, parameters.compute().activations);
  Tape& tape = memory->tape;
  const auto l = static_cast<size_t>(layer);
  memory->hidden = tape.bound({shape.streams, shape.memory_rows, config_.d_model}, tape.activations());
  const Value hidden{.data = memory->hidden, .gradient = {}};
  memory->kv = layers_[l]->keys_and_values(tape, parameters, hidden, use_of_layer(config_, use, layer)).data;
  tape.keep(memory->kv);
  tape.seal();
  return memory;
}

std::unique_ptr<SharedRowsTape> Transformer::record_shared_rows(Arena& arena, Parameters& parameters,
                                                                const ModelUse& use,
                                                                const RowsRecorder& record_rows) const {
  auto shared = std::make_unique<SharedRowsTape>(arena, parameters.compute().activations);
  Tape& tape = shared->tape;
  const Value rows = record_rows(tape, *head_);
  for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
    const Block& block = *layers_[static_cast<size_t>(layer)];
    shared->kv.push_back(block.keys_and_values(tape, parameters, rows, use_of_layer(config_, use, layer)).data);
    tape.keep(shared->kv.back());
  }
  tape.seal();
  return shared;
}

}  // namespace segue

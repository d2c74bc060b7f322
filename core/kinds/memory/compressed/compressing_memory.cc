#include "core/kinds/memory/compressed/compressing_memory.h"

#include "core/kinds/memory/compressed/compressed_slots.h"
#include "core/kinds/memory/compressed/options.h"

namespace segue {

namespace {

// The rows that the segment pushes out of a memory [B, M, D].
Value pushed_out_of(Tape& tape, const Value& memory, const SegmentShape& shape) {
  return copied_rows(tape, {memory, shape.compressed, shape.pushed_out});
}

class CompressingStations final : public MemoryStations {
 public:
  CompressingStations(StepRecording& step, const ModelConfig& model, const std::vector<Compressor>& layers)
      : MemoryStations(step), model_(model), layers_(layers), slots_(make_slots<CompressedSlots>(step.segment)) {}

  // What the rows that the segment pushes out receive; of a KV cache together with what the parts before gave them.
  void ask_about(LayerMemory& memory) override {
    const SegmentShape& shape = step_.shape;
    if (!keeps_most_used(model_.memory) || shape.pushed_out == 0) return;
    const Shape sums{shape.streams, model_.n_head, shape.pushed_out};
    ReceivedAttention received{.sums = tape().new_slot(sums), .before = {}, .first = shape.compressed};
    if (shape.remembered == Remembered::kKvCache) {
      received.before = tape().bound(sums, DType::kFloat32);
      tape().keep(received.sums);
    }
    slots_.received.push_back(received);
    memory.received.push_back(received);
  }

  // What becomes of rows that the segment pushes out, and in training the loss of that, from which nothing else learns:
  // rows, what they became in memory, and the layer's input are constants, and so are its weights.
  void after_layer(const SegmentOfStep& /*segment*/, int64_t layer, const Block& block,
                   LayerOutputs& outputs) override {
    if (step_.shape.remembered == Remembered::kKvCache) {  // compressed between segments
      tape().keep(outputs.input.data);
      slots_.inputs.push_back(outputs.input.data);
      return;
    }
    if (step_.shape.pushed_out == 0) return;
    const auto l = static_cast<size_t>(layer);
    const Value rows = pushed_out_of(tape(), step_.memories[l].rows, step_.shape);
    const Value compressed = layers_[l].compress(tape(), step_.parameters, rows,
                                                 keeps_most_used(model_.memory) ? slots_.received[l].sums : Slot());
    tape().keep(compressed.data);
    slots_.compressed.push_back(compressed.data);
    if (tape().training()) add_reconstruction(l, block, outputs, rows, compressed);
  }

 private:
  void add_reconstruction(size_t layer, const Block& block, const LayerOutputs& read, const Value& rows,
                          const Value& compressed) {
    const ReconstructionKind kind = reconstruction_of(model_.memory);
    if (kind == ReconstructionKind::kNone) return;
    Distance distance{.constant = rows, .x = {}, .weight = model_.memory.reconstruction_weight};
    if (kind == ReconstructionKind::kAttention) {
      const std::vector<Value> contents =
          block.contents_of(tape(), step_.parameters, read, {without_gradient(rows), compressed});
      distance.constant = contents[0];
      distance.x = contents[1];
    } else {
      distance.x = layers_[layer].find_again(tape(), step_.parameters, compressed);
    }
    Slot& sum = step_.segment.reconstruction;
    const bool is_first = !sum.exists();
    if (is_first) {
      sum = tape().new_slot({step_.shape.streams});
      tape().keep(sum);
    }
    add_distance(tape(), distance, sum, is_first);
  }

  const ModelConfig& model_;
  const std::vector<Compressor>& layers_;
  CompressedSlots& slots_;
};

}  // namespace

CompressingMemory::CompressingMemory(const ModelConfig& model) : model_(model) {
  for (int64_t layer = 0; layer < model.n_layer; ++layer) layers_.emplace_back(model, layer);
}

void CompressingMemory::declare_after_block(int64_t layer, std::vector<ParameterSpec>& specs) const {
  layers_[static_cast<size_t>(layer)].declare(specs);
}

std::unique_ptr<MemoryStations> CompressingMemory::stations(StepRecording& step) const {
  return std::make_unique<CompressingStations>(step, model_, layers_);
}

std::unique_ptr<CompressedTape> CompressingMemory::record(Arena& arena, Parameters& parameters,
                                                          const SegmentShape& shape, int64_t layer) const {
  auto made = std::make_unique<CompressedTape>(arena, parameters.compute().activations);
  Tape& tape = made->tape;
  made->hidden = tape.bound({shape.streams, shape.memory_rows, model_.d_model}, tape.activations());
  if (keeps_most_used(model_.memory))
    made->received = tape.bound({shape.streams, model_.n_head, shape.pushed_out}, DType::kFloat32);
  const Value rows = pushed_out_of(tape, {.data = made->hidden, .gradient = {}}, shape);
  const Compressor& compressor = layers_[static_cast<size_t>(layer)];
  made->compressed = compressor.compress(tape, parameters, rows, made->received).data;
  tape.keep(made->compressed);
  tape.seal();
  return made;
}

extern const ModelMemoryRow kCompressedInModel;
constexpr ModelMemoryRow kCompressedInModel{.make = [](const ModelConfig& model) -> std::unique_ptr<ModelMemory> {
  return std::make_unique<CompressingMemory>(model);
}};

}  // namespace segue

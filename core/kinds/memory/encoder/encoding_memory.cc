#include "core/kinds/memory/encoder/encoding_memory.h"

#include "core/kinds/memory/encoder/encoder_slots.h"
#include "core/kinds/row_numbers.h"
#include "core/tape/dropout_sites.h"

namespace segue {

namespace {

class EncodingStations final : public MemoryStations {
 public:
  EncodingStations(StepRecording& step, const EncodingMemory& memory) : MemoryStations(step), memory_(memory) {}

  void open() override {
    const SegmentShape& shape = step_.shape;
    Slot& tokens = make_slots<EncoderSlots>(step_.segment).tokens;
    tokens = tape().bound({shape.streams, shape.memory_rows}, DType::kInt32);
    encoded_ = memory_.record(tape(), step_.parameters, step_.head, tokens, step_.use);
  }

  Value remembered_rows(const Shape& /*shape*/) override { return encoded_; }
  bool remembers_rows() const override { return false; }  // the tokens are remembered

 private:
  const EncodingMemory& memory_;
  Value encoded_;  // [B, M, D]
};

}  // namespace

// A KV cache has rows like any other.
std::unique_ptr<MemoryStations> EncodingMemory::stations(StepRecording& step) const {
  if (step.shape.remembered == Remembered::kKvCache) return ModelMemory::stations(step);
  return std::make_unique<EncodingStations>(step, *this);
}

Value EncodingMemory::record(Tape& tape, Parameters& parameters, const Head& head, Slot tokens,
                             const ModelUse& use) const {
  const Shape shape = tape.shape(tokens);
  if (shape[1] == 0) {
    const OwnedTensor nothing(DType::kFloat32, {shape[0], 0, model_.d_model});
    return {.data = tape.constant(nothing, tape.activations()), .gradient = {}};
  }
  const DropoutSite site{.p = model_.dropout, .site = kEncoderDropoutSite};
  const Value embedded = head.embed_tokens(tape, parameters, tokens, site);
  const Slot ahead = tape.constant(rows_after_each(shape), DType::kInt32);
  return encoder_.encode(tape, parameters, embedded, ahead, use);
}

extern const ModelMemoryRow kEncoderInModel;
constexpr ModelMemoryRow kEncoderInModel{.make = [](const ModelConfig& model) -> std::unique_ptr<ModelMemory> {
  return std::make_unique<EncodingMemory>(model);
}};

}  // namespace segue

// Memory tokens (Bulatov et al. 2022, "Recurrent Memory Transformer"): a segment reads those of the segment before it
// as its first rows, and what its last rows become at the end of the layers is what the next one reads.
#include "core/kinds/learned_tokens.h"
#include "core/kinds/memory/model_memory.h"
#include "core/kinds/memory/tokens/token_slots.h"

namespace segue {

namespace {

constexpr const char* kInitialTokens = "memory.initial";  // those that streams begin with

class TokenStations final : public MemoryStations {
 public:
  TokenStations(StepRecording& step, const ModelConfig& model)
      : MemoryStations(step),
        shape_{step.shape.streams, model.memory.tokens, model.d_model},
        writes_own_(model.memory.written == WrittenTokens::kOwn),
        slots_(make_slots<TokenSlots>(step.segment)) {}

  void open() override {
    if (step_.shape.opens || (step_.shape.closes && !writes_own_)) tokens_ = read();
  }

  StreamRows rows_before(const SegmentOfStep& segment) override {
    return segment.opens ? StreamRows{tokens_, 0, shape_[1]} : StreamRows();
  }

  StreamRows rows_after(const SegmentOfStep& segment) override {
    if (!segment.closes) return {};
    return {writes_own_ ? learned_tokens(tape(), step_.parameters, kWrittenTokens, shape_) : tokens_, 0, shape_[1]};
  }

  void close(const SegmentOfStep& segment, const Value& output) override {
    if (segment.after == 0) return;
    // What the last segment writes, nothing reads on this tape.
    const Value& from = segment.is_last ? without_gradient(output) : output;
    tokens_ = join_rows(tape(), {{from, segment.first_after(), segment.after}});
    if (!segment.is_last) return;
    slots_.written = tokens_.data;
    tape().keep(tokens_.data);
  }

 private:
  // Those that the first segment reads.
  Value read() {
    if (step_.shape.begins_streams) return learned_tokens(tape(), step_.parameters, kInitialTokens, shape_);
    slots_.read = tape().bound(shape_, tape().activations());
    return {.data = slots_.read, .gradient = {}};
  }

  Shape shape_;  // B, K, D
  bool writes_own_;
  TokenSlots& slots_;
  Value tokens_;  // that the next segment reads
};

class TokenMemoryOfModel final : public ModelMemory {
 public:
  explicit TokenMemoryOfModel(ModelConfig model) : model_(std::move(model)) {}

  void declare(std::vector<ParameterSpec>& specs) const override {
    const Shape tokens{model_.memory.tokens, model_.d_model};
    specs.push_back({kInitialTokens, tokens});
    if (model_.memory.written == WrittenTokens::kOwn) specs.push_back({kWrittenTokens, tokens});
  }

  std::unique_ptr<MemoryStations> stations(StepRecording& step) const override {
    return std::make_unique<TokenStations>(step, model_);
  }

 private:
  ModelConfig model_;
};

}  // namespace

extern const ModelMemoryRow kTokensInModel;
constexpr ModelMemoryRow kTokensInModel{.make = [](const ModelConfig& model) -> std::unique_ptr<ModelMemory> {
  if (model.memory.tokens == 0) return std::make_unique<ModelMemory>();  // rows of layers alone
  return std::make_unique<TokenMemoryOfModel>(model);
}};

}  // namespace segue

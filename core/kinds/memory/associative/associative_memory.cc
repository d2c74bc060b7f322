// Associations in every layer: tokens read them before the layer, and the memory tokens behind a segment write into
// them what the layer makes of these.
#include "core/kinds/learned_tokens.h"
#include "core/kinds/memory/associative/associations.h"
#include "core/kinds/memory/model_memory.h"

namespace segue {

namespace {

class AssociativeStations final : public MemoryStations {
 public:
  AssociativeStations(StepRecording& step, const ModelConfig& model, const std::vector<Associations>& layers)
      : MemoryStations(step), tokens_{step.shape.streams, model.memory.tokens, model.d_model}, layers_(layers) {}

  StreamRows rows_after(const SegmentOfStep& segment) override {
    if (!segment.closes) return {};
    return {learned_tokens(tape(), step_.parameters, kWrittenTokens, tokens_), 0, tokens_[1]};
  }

  void before_layer(int64_t layer, Residual& residual) override {
    const Value input = sum_of(tape(), residual);
    const Value read = of(layer).read(tape(), step_.parameters, input, state_of(layer));
    residual = {.sum = add(tape(), {.sum = input, .branch = read, .site = {}}), .branch = {}, .site = {}};
  }

  void after_layer(const SegmentOfStep& segment, int64_t layer, const Block& /*block*/,
                   LayerOutputs& outputs) override {
    if (segment.after == 0) return;
    const bool is_read_on = !segment.is_last;
    Residual& residual = outputs.residual;
    residual = {.sum = sum_of(tape(), residual), .branch = {}, .site = {}};
    const Value from = is_read_on ? residual.sum : without_gradient(residual.sum);
    const Value written = join_rows(tape(), {{from, segment.first_after(), segment.after}});
    state_of(layer) = of(layer).write(tape(), step_.parameters, written, state_of(layer), is_read_on);
  }

 private:
  const Associations& of(int64_t layer) const { return layers_[static_cast<size_t>(layer)]; }
  Value& state_of(int64_t layer) const { return step_.memories[static_cast<size_t>(layer)].states.front(); }

  Shape tokens_;  // B, K, D
  const std::vector<Associations>& layers_;
};

class AssociativeMemory final : public ModelMemory {
 public:
  explicit AssociativeMemory(ModelConfig model) : model_(std::move(model)) {
    for (int64_t layer = 0; layer < model_.n_layer; ++layer) layers_.emplace_back(model_, layer_name(model_, layer));
  }

  void declare(std::vector<ParameterSpec>& specs) const override {
    specs.push_back({kWrittenTokens, {model_.memory.tokens, model_.d_model}});
  }

  void declare_before_block(int64_t layer, std::vector<ParameterSpec>& specs) const override {
    layers_[static_cast<size_t>(layer)].declare(specs);
  }

  std::unique_ptr<MemoryStations> stations(StepRecording& step) const override {
    return std::make_unique<AssociativeStations>(step, model_, layers_);
  }

 private:
  ModelConfig model_;
  std::vector<Associations> layers_;
};

}  // namespace

extern const ModelMemoryRow kAssociativeInModel;
constexpr ModelMemoryRow kAssociativeInModel{.make = [](const ModelConfig& model) -> std::unique_ptr<ModelMemory> {
  return std::make_unique<AssociativeMemory>(model);
}};

}  // namespace segue

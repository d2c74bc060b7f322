// Reads as linear attention does, mixes, and adds to the sums. Only attention itself has positions.
#include "core/kinds/memory/infini/infini_memory.h"

#include <utility>

#include "core/config/carried.h"
#include "core/kinds/memory/model_memory.h"
#include "core/tape/operations.h"
#include "core/tape/state_operations.h"

namespace segue {

namespace {

constexpr float kLeastWeight = 1e-30F;  // before the second segment there is none, and nothing is read

}  // namespace

InfiniMemory::InfiniMemory(const ModelConfig& model, const LayerName& layer)
    : state_(carried_tensors(model, layer.number).front().shape), prefix_(layer.prefix + "attention.infini.") {}

// Heads begin with as much of the one as of the other.
void InfiniMemory::declare(std::vector<ParameterSpec>& specs) const {
  specs.push_back({prefix_ + "gate", {state_[0]}, Initializer::kZero});
}

// elu + 1, above 0.
Value InfiniMemory::feature_of(Tape& tape, const Value& rows) const {
  return head_norm(tape, rows, {.feature = kernels::Feature::kEluPlusOne, .width = state_[1]});
}

AttentionMemory::Read InfiniMemory::read(Tape& tape, Parameters& /*parameters*/, const Segment& segment,
                                         const std::vector<Value>& carried) const {
  const int64_t heads = state_[0], width = heads * state_[1];
  const Shape shape = tape.shape(segment.qkv.data);
  const Value q = columns_of(tape, segment.qkv, 0, width);
  const Value written = segment.is_read_on ? segment.qkv : without_gradient(segment.qkv);
  Read read{.output = {},
            .keys = columns_of(tape, written, width, width),
            .values = columns_of(tape, written, 2 * width, width)};
  const Value sums = state_read(tape, feature_of(tape, q), carried.front());
  const Value of_heads = reshaped(tape, sums, {shape[0], shape[1] * heads, state_[2]});
  read.output = reshaped(tape, weighted_average(tape, of_heads, kLeastWeight), {shape[0], shape[1], width});
  return read;
}

Value InfiniMemory::mixed(Tape& tape, Parameters& parameters, const Read& read, const Value& attended,
                          const Parameter& projection) const {
  return linear(tape, blend(tape, read.output, attended, parameters[prefix_ + "gate"]), projection);
}

std::vector<Value> InfiniMemory::write(Tape& tape, const Read& segment, const std::vector<Value>& carried) const {
  const int64_t heads = state_[0];
  const Shape shape = tape.shape(segment.values.data);
  const Value k = feature_of(tape, segment.keys);
  const Value of_heads = reshaped(tape, segment.values, {shape[0], shape[1] * heads, state_[1]});
  const Value weighted = feature_map(tape, of_heads, {.formula = kernels::FeatureFormula::kWithOne});
  return {state_write(tape, k, reshaped(tape, weighted, {shape[0], shape[1], heads * state_[2]}), carried.front())};
}

namespace {

class InfiniMemoryOfModel final : public ModelMemory {
 public:
  explicit InfiniMemoryOfModel(ModelConfig model) : model_(std::move(model)) {}

  std::unique_ptr<AttentionMemory> in_attention(const LayerName& layer) const override {
    return std::make_unique<InfiniMemory>(model_, layer);
  }

 private:
  ModelConfig model_;
};

}  // namespace

extern const ModelMemoryRow kInfiniInModel;
constexpr ModelMemoryRow kInfiniInModel{.make = [](const ModelConfig& model) -> std::unique_ptr<ModelMemory> {
  return std::make_unique<InfiniMemoryOfModel>(model);
}};

}  // namespace segue

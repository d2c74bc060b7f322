// A kind of memory from outside Segue: fast weights (Schmidhuber 1992; Ba et al. 2016). Every layer keeps a matrix for
// each head, which sums the values of all tokens of earlier segments under learned keys. Queries of later segments read
// an average of these values, and a learned projection adds it to what attention gives.
//
// Everything here is an operation of the tape, so that it runs wherever Segue runs.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/extension/extension.h"

namespace {

using namespace segue;

constexpr const char* kWord = "fast_weights";
constexpr OwnOption<int64_t> kKeyWidth{"key_width", 16};
constexpr float kLeastWeight = 1e-30F;  // in the first segment nothing has been written, and nothing is read

// In configs.
void describe(MemoryConfig& memory, JsonFields& fields) {
  fields.optional(kKeyWidth.key, memory.own[kKeyWidth],
                  {.meaning = "width of a head's keys: rows of its matrix",
                   .minimum = 1,
                   .maximum = 256,
                   .kinds = Kinds(memory_kind_named(kWord))});
}

KindRequirements needs(const MemoryConfig& /*memory*/) {
  return {.objective = {.choices = Kinds(ObjectiveKind::kNextToken)},
          .no_documents = kGoesOn,
          .hands_on_gradients = true,
          .remembers_without_rows = true,
          .inspected = "fast weights of every layer"};
}

// Behind a head's values the weights of their keys: [N, K, H + 1].
std::vector<CarriedTensor> carried(const ModelConfig& model, int64_t layer) {
  return {{.name = fmt::format("fast_weights.{}", layer),
           .shape = {model.n_head, model.memory.own[kKeyWidth], model.d_head + 1},
           .change = CarriedChange::kGathered}};
}

// In a layer.
class FastWeights final : public AttentionMemory {
 public:
  FastWeights(const ModelConfig& model, const LayerName& layer)
      : d_model_(model.d_model),
        heads_(model.n_head),
        keys_(model.memory.own[kKeyWidth]),
        values_(model.d_head),
        prefix_(layer.prefix + "fast_weights.") {}

  // The output begins at zero: segments know nothing of one another until that is worth something.
  void declare(std::vector<ParameterSpec>& specs) const override {
    for (const char* name : {"q", "k"}) specs.push_back({prefix_ + name, {heads_ * keys_, d_model_}});
    specs.push_back({prefix_ + "output", {d_model_, heads_ * values_}, Initializer::kZero});
  }

  Read read(Tape& tape, Parameters& parameters, const Segment& segment,
            const std::vector<Value>& carried) const override {
    const int64_t width = heads_ * values_;
    const Shape shape = tape.shape(segment.x.data);  // B, T, D
    // Nothing learns from what no segment of the step reads.
    const bool learns = segment.is_read_on;
    const Parameter key = parameters[prefix_ + "k"];
    const Value x = learns ? segment.x : without_gradient(segment.x);
    Read read{.output = {},
              .keys = linear(tape, x, learns ? key : key.constant()),
              .values = columns_of(tape, learns ? segment.qkv : without_gradient(segment.qkv), 2 * width, width)};
    const Value q = positive(tape, linear(tape, segment.x, parameters[prefix_ + "q"]));
    const Value sums = reshaped(tape, state_read(tape, q, carried.front()), {shape[0], shape[1] * heads_, values_ + 1});
    read.output = reshaped(tape, weighted_average(tape, sums, kLeastWeight), {shape[0], shape[1], width});
    return read;
  }

  Value mixed(Tape& tape, Parameters& parameters, const Read& read, const Value& attended,
              const Parameter& projection) const override {
    return linear_sum(tape, {{attended, projection}, {read.output, parameters[prefix_ + "output"]}});
  }

  std::vector<Value> write(Tape& tape, const Read& segment, const std::vector<Value>& carried) const override {
    const Shape shape = tape.shape(segment.values.data);  // B, T, N*H
    const Value of_heads = reshaped(tape, segment.values, {shape[0], shape[1] * heads_, values_});
    const Value weighted = feature_map(tape, of_heads, {.formula = kernels::FeatureFormula::kWithOne});
    return {state_write(tape, positive(tape, segment.keys),
                        reshaped(tape, weighted, {shape[0], shape[1], heads_ * (values_ + 1)}), carried.front())};
  }

 private:
  // elu + 1, so that averages have weights above zero.
  Value positive(Tape& tape, const Value& rows) const {
    return head_norm(tape, rows, {.feature = kernels::Feature::kEluPlusOne, .width = keys_});
  }

  int64_t d_model_, heads_, keys_, values_;
  std::string prefix_;  // of its parameters' names
};

class FastWeightsOfModel final : public ModelMemory {
 public:
  explicit FastWeightsOfModel(ModelConfig model) : model_(std::move(model)) {}

  std::unique_ptr<AttentionMemory> in_attention(const LayerName& layer) const override {
    return std::make_unique<FastWeights>(model_, layer);
  }

 private:
  ModelConfig model_;
};

constexpr MemoryRow kRow{
    .describe = describe, .needs = needs, .carried = carried, .without_limit = [](const MemoryConfig& memory) {
      return said_kind(memory);
    }};
constexpr ModelMemoryRow kInModel{.make = [](const ModelConfig& model) -> std::unique_ptr<ModelMemory> {
  return std::make_unique<FastWeightsOfModel>(model);
}};
constexpr KeptMemoryRow kKept{};  // rows of layers, and what layers carry

}  // namespace

SEGUE_EXTENSION(fast_weights, kinds) {
  kinds.add({.word = kWord,
             .meaning = "in every layer a matrix of fixed size for each head, which sums values under learned keys",
             .row = kRow,
             .in_model = kInModel,
             .kept = kKept});
}

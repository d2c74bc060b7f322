// All tokens of a segment read the state from before it. Memory tokens write by a scan, whose reads nobody uses.
#include "core/kinds/memory/associative/associations.h"

#include "core/config/carried.h"
#include "core/tape/state_operations.h"

namespace segue {

Associations::Associations(const ModelConfig& model, const LayerName& layer)
    : state_(carried_tensors(model, layer.number).front().shape),
      d_model_(model.d_model),
      shifts_(model.memory.shifts),
      prefix_(layer.prefix + "associations.") {}

// Values begin at zero, so that segments know nothing of one another until that is worth something.
void Associations::declare(std::vector<ParameterSpec>& specs) const {
  const int64_t heads = state_[0], width = heads * state_[2];
  for (const char* name : {"q", "k"}) specs.push_back({prefix_ + name, {width, d_model_}});
  specs.push_back({prefix_ + "v", {width, d_model_}, Initializer::kZero});
  specs.push_back({prefix_ + "strength", {heads, d_model_}});
  specs.push_back({prefix_ + "strength_bias", {heads}, Initializer::kZero});
  specs.push_back({prefix_ + "output", {d_model_, width}});
}

// Of queries or keys [B, R, N*H]: [B, R, N*K], each head's of length 1.
Value Associations::feature_of(Tape& tape, const Value& rows) const {
  const Shape shape = tape.shape(rows.data);
  const int64_t heads = state_[0], keys = state_[1];
  const Value of_heads = reshaped(tape, rows, {shape[0], shape[1] * heads, state_[2]});
  const Value products =
      feature_map(tape, of_heads, {.formula = kernels::FeatureFormula::kProducts, .shifts = shifts_});
  return head_norm(tape, reshaped(tape, products, {shape[0], shape[1], heads * keys}),
                   {.norm = kernels::HeadNorm::kUnit, .width = keys});
}

Value Associations::read(Tape& tape, Parameters& parameters, const Value& x, const Value& state) const {
  const Value q = feature_of(tape, linear(tape, x, parameters[prefix_ + "q"]));
  return linear(tape, state_read(tape, q, state), parameters[prefix_ + "output"]);
}

Value Associations::write(Tape& tape, Parameters& parameters, const Value& tokens, const Value& state,
                          bool is_read_on) const {
  // Nothing learns from what no segment of the step reads: weights are constants then, as the tokens are.
  const auto weight = [&](const char* name) {
    const Parameter& learned = parameters[prefix_ + name];
    return is_read_on ? learned : learned.constant();
  };
  const Value k = feature_of(tape, linear(tape, tokens, weight("k")));
  return state_scan(tape, {.state = state_,
                           .q = without_gradient(k),
                           .k = k,
                           .v = linear(tape, tokens, weight("v")),
                           .strength = gate(tape, linear(tape, tokens, weight("strength")),
                                            {.formula = kernels::GateFormula::kShare, .bias = weight("strength_bias")}),
                           .initial = is_read_on ? state : without_gradient(state),
                           .erases = true,
                           .is_read = false,
                           .is_read_on = is_read_on})
      .state;
}

}  // namespace segue

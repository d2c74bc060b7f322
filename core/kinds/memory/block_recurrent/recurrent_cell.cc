// As in the authors' code where it skips the feed-forward network of states: these have a second query, for tokens.
#include "core/kinds/memory/block_recurrent/recurrent_cell.h"

#include "core/kinds/learned_tokens.h"
#include "core/kinds/memory/block_recurrent/cell_operations.h"
#include "core/kinds/memory/block_recurrent/options.h"
#include "core/tape/element_gates.h"
#include "core/tape/operations.h"

namespace segue {

namespace {

constexpr float kForgetBias = 1.0F;  // what the authors' code adds, so that states are kept at first
constexpr float kInputBias = -1.0F;

}  // namespace

RecurrentCell::RecurrentCell(const ModelConfig& model)
    : model_(model), layer_(layer_name(model, recurrent_layer(model))), prefix_(layer_.prefix + "recurrent.") {}

void RecurrentCell::declare(std::vector<ParameterSpec>& specs) const {
  const int64_t width = model_.n_head * model_.d_head, d_model = model_.d_model;
  declare_layer_norm(prefix_ + "norm", d_model, specs);
  specs.push_back({prefix_ + "embedding", {model_.memory.states, d_model}});
  specs.push_back({prefix_ + "qkv", {3 * width, d_model}});
  specs.push_back({prefix_ + "token_q", {width, d_model}});
  specs.push_back({prefix_ + "output", {d_model, 2 * width}});
  if (model_.memory.gate == RecurrentGate::kFixed) {
    specs.push_back({prefix_ + "keep", {d_model}, Initializer::kZero});
    return;
  }
  specs.push_back({prefix_ + "forget", {d_model, 2 * width}});
  specs.push_back({prefix_ + "forget_bias", {d_model}, Initializer::kConstant, kForgetBias});
  specs.push_back({prefix_ + "input", {d_model, 2 * width}});
  specs.push_back({prefix_ + "input_bias", {d_model}, Initializer::kConstant, kInputBias});
}

RecurrentCell::States RecurrentCell::begin(Tape& tape, Parameters& parameters, const Value& carried) const {
  const int64_t width = model_.n_head * model_.d_head;
  States states{.vectors = to_activations(tape, carried), .rows = {}, .kv = {}};
  const LayerNormParameters norm = layer_norm(parameters, prefix_ + "norm", model_.block.layer_norm_epsilon);
  const Value normalised = normalise(tape, {.sum = states.vectors, .branch = {}, .site = {}}, norm);
  const Value embedding = learned_tokens(tape, parameters, prefix_ + "embedding", tape.shape(carried.data));
  states.rows = add(tape, {.sum = normalised, .branch = embedding, .site = {}});
  states.kv = linear(tape, states.rows, parameters[prefix_ + "qkv"].rows(width, 2 * width));
  return states;
}

Value RecurrentCell::end(Tape& tape, Parameters& parameters, const States& states, const Value& token_kv,
                         bool is_read_on) const {
  // Nothing learns from what no segment of the step reads.
  const auto value = [is_read_on](const Value& learned) { return is_read_on ? learned : without_gradient(learned); };
  const auto weight = [&](const char* name) {
    const Parameter learned = parameters[prefix_ + name];
    return is_read_on ? learned : learned.constant();
  };
  const Shape heads{model_.n_head, model_.d_head};
  const Value rows = value(states.rows);
  const Value q = linear(tape, rows, weight("qkv").rows(0, heads.elements()));
  const Value token_q = linear(tape, rows, weight("token_q"));
  const Value of_states = attend_to_all(tape, heads, schedules_, q, value(states.kv));
  const Value of_tokens = attend_to_all(tape, heads, schedules_, token_q, token_kv);
  const Value attended = beside(tape, {of_states, of_tokens});
  return gated(tape, parameters, value(states.vectors), attended, is_read_on);
}

// With z what states attended to, projected:
//   fixed  s(keep) before + (1 - s(keep)) z
//   LSTM   s(forget attended) before + s(input attended) z
Value RecurrentCell::gated(Tape& tape, Parameters& parameters, const Value& before, const Value& attended,
                           bool is_read_on) const {
  const auto weight = [&](const char* name) {
    const Parameter learned = parameters[prefix_ + name];
    return is_read_on ? learned : learned.constant();
  };
  const Value z = linear(tape, attended, weight("output"));
  if (model_.memory.gate == RecurrentGate::kFixed)
    return to_floats(tape, element_gate(tape, {.a = before, .b = z, .bias = weight("keep")}));
  const auto share = [&](const Value& of, const char* name, const char* bias) {
    const Value logits = linear(tape, attended, weight(name));
    return to_floats(tape, element_gate(tape, {.a = of, .logits = logits, .bias = weight(bias)}));
  };
  const Value kept = share(before, "forget", "forget_bias");
  return sum_of_biases(tape, kept, share(z, "input", "input_bias"));
}

}  // namespace segue

#include "core/kinds/block/gated/gates.h"

#include <utility>

#include "core/kinds/block/gated/options.h"
#include "core/tape/element_gates.h"
#include "core/tape/operations.h"

namespace segue {

namespace {

Value sum(Tape& tape, const Value& a, const Value& b) { return add(tape, {.sum = a, .branch = b, .site = {}}); }

}  // namespace

BranchGate::BranchGate(const BlockConfig& block, int64_t d_model, std::string prefix)
    : block_(block), d_model_(d_model), prefix_(std::move(prefix)) {}

std::vector<const char*> BranchGate::matrices() const {
  switch (block_.gate) {
    case ResidualGate::kGru:
      return {"w_r", "u_r", "w_z", "u_z", "w_g", "u_g"};
    case ResidualGate::kSigmoidTanh:
      return {"w", "u"};
    case ResidualGate::kHighway:
    case ResidualGate::kInput:
    case ResidualGate::kOutput:
      break;
  }
  return {"w"};
}

void BranchGate::declare(std::vector<ParameterSpec>& specs) const {
  for (const char* matrix : matrices()) specs.push_back({prefix_ + matrix, {d_model_, d_model_}});
  if (has_bias(block_.gate))
    specs.push_back({prefix_ + "bias", {d_model_}, Initializer::kConstant, static_cast<float>(block_.gate_bias)});
}

Value BranchGate::apply(Tape& tape, Parameters& parameters, const Value& x, const Value& y) const {
  const auto product = [&](const Value& of, const char* matrix) {
    return linear(tape, of, parameters[prefix_ + matrix]);
  };
  const auto bias = [&] { return parameters[prefix_ + "bias"]; };
  switch (block_.gate) {
    case ResidualGate::kGru:
      break;
    case ResidualGate::kHighway:
      return element_gate(tape, {.a = x, .b = y, .logits = product(x, "w"), .bias = bias()});
    case ResidualGate::kSigmoidTanh: {
      const Value share = product(y, "w");
      return sum(
          tape, x,
          element_gate(
              tape, {.a = product(y, "u"), .is_bounded = true, .logits = share, .bias = bias(), .bias_factor = -1.0F}));
    }
    case ResidualGate::kInput:
      return sum(tape, element_gate(tape, {.a = x, .logits = product(x, "w")}), y);
    case ResidualGate::kOutput:
      return sum(tape, x,
                 element_gate(tape, {.a = y, .logits = product(x, "w"), .bias = bias(), .bias_factor = -1.0F}));
  }
  return gru(tape, parameters, x, y);
}

Value BranchGate::gru(Tape& tape, Parameters& parameters, const Value& x, const Value& y) const {
  const auto products = [&](const char* of_y, const char* of_x, const Value& right) {
    return linear_sum(tape, {{y, parameters[prefix_ + of_y]}, {right, parameters[prefix_ + of_x]}});
  };
  const Value reset = element_gate(tape, {.a = x, .logits = products("w_r", "u_r", x)});
  const Value update = products("w_z", "u_z", x);
  return element_gate(tape, {.a = products("w_g", "u_g", reset),
                             .is_bounded = true,
                             .b = x,
                             .logits = update,
                             .bias = parameters[prefix_ + "bias"],
                             .bias_factor = -1.0F});
}

}  // namespace segue

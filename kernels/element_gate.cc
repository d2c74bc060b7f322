// Gates of elements: what the arguments must be.
#include "kernels/element_gate.h"

#include <array>
#include <utility>

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

using NamedView = std::pair<std::string_view, ConstTensorView>;

// Those of [R, C].
std::array<NamedView, 3> matrices_of(const ElementGateInputs& in) {
  return {NamedView{"a", in.a}, {"b", in.b}, {"logits", in.logits}};
}

// Returns the dtype of the call's activations.
DType check_inputs(const Contract& contract, const ElementGateInputs& in) {
  const DType dtype = contract.activation("a", in.a, 2);
  for (const auto& [name, view] : matrices_of(in))
    if (!view.empty() || (name == "logits" && in.bias.empty())) contract.tensor(name, view, dtype, in.a.shape);
  if (!in.bias.empty()) contract.floats("bias", in.bias, {in.a.shape[1]});
  return dtype;
}

}  // namespace

void element_gate_forward(Queue& queue, const ElementGateForward& args) {
  const Contract contract("element_gate_forward");
  const DType dtype = check_inputs(contract, args.in);
  contract.tensor("y", args.y, dtype, args.in.a.shape);
  for (const auto& [name, view] : matrices_of(args.in)) contract.disjoint("y", args.y, name, view);
  contract.disjoint("y", args.y, "bias", args.in.bias);
  if (args.in.a.elements() == 0) return;
  queue.operations().element_gate_forward(queue, args);
}

void element_gate_backward(Queue& queue, const ElementGateBackward& args) {
  const Contract contract("element_gate_backward");
  const ElementGateInputs& in = args.in;
  const DType dtype = check_inputs(contract, in);
  contract.tensor("dy", args.dy, dtype, in.a.shape);
  if (in.b.empty()) contract.absent("db", args.db.to, "there is no b");
  if (in.logits.empty()) contract.absent("dlogits", args.dlogits.to, "there are no logits");
  if (in.bias.empty()) contract.absent("dbias", args.dbias, "there is no bias");
  const std::array<NamedView, 3> outputs{NamedView{"da", args.da.to}, {"db", args.db.to}, {"dlogits", args.dlogits.to}};
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->second.empty()) continue;
    contract.tensor(output->first, output->second, dtype, in.a.shape);
    contract.disjoint(output->first, output->second, "dy", args.dy);
    for (const auto& [name, view] : matrices_of(in)) contract.disjoint(output->first, output->second, name, view);
    for (auto other = outputs.begin(); other != output; ++other)
      contract.disjoint(output->first, output->second, other->first, other->second);
  }
  if (!args.dbias.empty()) {
    contract.floats("dbias", args.dbias, {in.a.shape[1]});
    contract.disjoint("dbias", args.dbias, "bias", in.bias);
    contract.disjoint("dbias", args.dbias, "dy", args.dy);
    for (const auto& [name, view] : outputs) contract.disjoint("dbias", args.dbias, name, view);
  }
  if (in.a.elements() == 0) return;
  queue.operations().element_gate_backward(queue, args);
}

}  // namespace segue::kernels

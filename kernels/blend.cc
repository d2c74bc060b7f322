// Shares of two sources: what the arguments must be.
#include "kernels/blend.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

// Returns the dtype of the call's activations.
DType check_inputs(const Contract& contract, ConstTensorView a, ConstTensorView b, ConstTensorView logits) {
  const DType dtype = contract.activation("a", a, 3);
  contract.tensor("b", b, dtype, a.shape);
  contract.floats("logits", logits, {a.shape[1]});
  return dtype;
}

}  // namespace

void blend_forward(Queue& queue, const BlendForward& args) {
  const Contract contract("blend_forward");
  const DType dtype = check_inputs(contract, args.a, args.b, args.logits);
  contract.tensor("y", args.y, dtype, args.a.shape);
  contract.disjoint("y", args.y, "a", args.a);
  contract.disjoint("y", args.y, "b", args.b);
  if (args.a.elements() == 0) return;
  queue.operations().blend_forward(queue, args);
}

void blend_backward(Queue& queue, const BlendBackward& args) {
  const Contract contract("blend_backward");
  const DType dtype = check_inputs(contract, args.a, args.b, args.logits);
  contract.tensor("dy", args.dy, dtype, args.a.shape);
  const auto check_output = [&](std::string_view name, const TensorView& output) {
    contract.tensor(name, output, dtype, args.a.shape);
    contract.disjoint(name, output, "a", args.a);
    contract.disjoint(name, output, "b", args.b);
    contract.disjoint(name, output, "dy", args.dy);
  };
  check_output("da", args.da);
  check_output("db", args.db);
  contract.disjoint("db", args.db, "da", args.da);
  contract.floats("dlogits", args.dlogits, {args.a.shape[1]});
  if (args.a.elements() == 0) return;
  queue.operations().blend_backward(queue, args);
}

}  // namespace segue::kernels

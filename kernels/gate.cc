// Gates of a state: what the arguments must be.
#include "kernels/gate.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

// Returns the dtype of the call's activations.
DType check_inputs(const Contract& contract, GateFormula formula, ConstTensorView x, ConstTensorView bias,
                   ConstTensorView rate) {
  const DType a = contract.activation("x", x, 2);
  contract.floats("bias", bias, {x.shape[1]});
  if (has_rate(formula)) {
    contract.floats("rate", rate, {x.shape[1]});
  } else {
    contract.absent("rate", rate, "the formula has none");
  }
  return a;
}

}  // namespace

void gate_forward(Queue& queue, const GateForward& args) {
  const Contract contract("gate_forward");
  check_inputs(contract, args.formula, args.x, args.bias, args.rate);
  contract.floats("gates", args.gates, args.x.shape);
  contract.disjoint("gates", args.gates, "x", args.x);
  if (args.x.elements() == 0) return;
  queue.operations().gate_forward(queue, args);
}

void gate_backward(Queue& queue, const GateBackward& args) {
  const Contract contract("gate_backward");
  const DType a = check_inputs(contract, args.formula, args.x, args.bias, args.rate);
  contract.floats("dgates", args.dgates, args.x.shape);
  contract.tensor("dx", args.dx, a, args.x.shape);
  contract.disjoint("dx", args.dx, "x", args.x);
  contract.disjoint("dx", args.dx, "dgates", args.dgates);
  contract.floats("dbias", args.dbias, {args.x.shape[1]});
  if (has_rate(args.formula)) {
    contract.floats("drate", args.drate, {args.x.shape[1]});
  } else {
    contract.absent("drate", args.drate, "the formula has no rate");
  }
  if (args.x.elements() == 0) return;
  queue.operations().gate_backward(queue, args);
}

}  // namespace segue::kernels

// Activation, norm, gain and gate of heads: what the arguments must be.
#include "kernels/head_norm.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

// Returns the dtype of the call's activations.
DType check_inputs(const Contract& contract, const HeadNormInputs& in) {
  const DType a = contract.activation("x", in.x, 2);
  const int64_t width = in.x.shape[1];
  contract.number("H", static_cast<double>(width), width >= 1 && width <= kMaxHeadNormWidth, "at least 1, at most {}",
                  kMaxHeadNormWidth);
  if (!in.gain.empty()) contract.floats("gain", in.gain, {width});
  if (!in.gate.empty()) contract.tensor("gate", in.gate, a, in.x.shape);
  return a;
}

void check_scale(const Contract& contract, const HeadNormInputs& in, ConstTensorView scale) {
  if (in.norm == HeadNorm::kNone) {
    contract.absent("scale", scale, "there is no norm");
  } else {
    contract.floats("scale", scale, {in.x.shape[0]});
  }
}

}  // namespace

void head_norm_forward(Queue& queue, const HeadNormForward& args) {
  const Contract contract("head_norm_forward");
  const DType a = check_inputs(contract, args.inputs);
  contract.tensor("y", args.y, a, args.inputs.x.shape);
  contract.same_or_disjoint("y", args.y, "x", args.inputs.x);
  contract.disjoint("y", args.y, "gate", args.inputs.gate);
  if (args.inputs.x.shape[0] == 0) return;
  check_scale(contract, args.inputs, args.scale);
  queue.operations().head_norm_forward(queue, args);
}

void head_norm_backward(Queue& queue, const HeadNormBackward& args) {
  const Contract contract("head_norm_backward");
  const HeadNormInputs& in = args.inputs;
  const DType a = check_inputs(contract, in);
  contract.tensor("dy", args.dy, a, in.x.shape);
  contract.tensor("dx", args.dx, a, in.x.shape);
  contract.disjoint("dx", args.dx, "x", in.x);
  contract.disjoint("dx", args.dx, "gate", in.gate);
  contract.same_or_disjoint("dx", args.dx, "dy", args.dy);
  if (in.gain.empty()) {
    contract.absent("dgain", args.dgain, "there is no gain");
  } else {
    contract.floats("dgain", args.dgain, {in.x.shape[1]});
  }
  if (in.gate.empty()) {
    contract.absent("dgate", args.dgate, "there is no gate");
  } else {
    contract.tensor("dgate", args.dgate, a, in.x.shape);
    contract.disjoint("dgate", args.dgate, "dx", args.dx);
    contract.disjoint("dgate", args.dgate, "dy", args.dy);
    contract.disjoint("dgate", args.dgate, "x", in.x);
    contract.disjoint("dgate", args.dgate, "gate", in.gate);
  }
  if (in.x.shape[0] == 0) return;
  check_scale(contract, in, args.scale);
  queue.operations().head_norm_backward(queue, args);
}

}  // namespace segue::kernels

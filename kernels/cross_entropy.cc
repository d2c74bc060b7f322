// Softmax cross-entropy: what the arguments must be.
#include "kernels/cross_entropy.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void cross_entropy_forward(Queue& queue, const CrossEntropyForward& args) {
  const Contract contract("cross_entropy_forward");
  contract.activation("logits", args.logits, 2);
  const Shape rows{args.logits.shape[0]};
  if (!args.bias.empty()) contract.floats("bias", args.bias, {args.logits.shape[1]});
  contract.indices("targets", args.targets, args.logits.shape[1], queue.device(), kNotScored);
  contract.tensor("targets", args.targets, DType::kInt32, rows);
  contract.floats("nll", args.nll, rows);
  contract.floats("lse", args.lse, rows);
  if (!args.margin.empty()) contract.floats("margin", args.margin, rows);
  contract.disjoint("nll", args.nll, "lse", args.lse);
  contract.disjoint("margin", args.margin, "nll", args.nll);
  contract.disjoint("margin", args.margin, "lse", args.lse);
  for (const TensorView& out : {args.nll, args.lse, args.margin}) {
    contract.disjoint("logits", args.logits, "the outputs", out);
    contract.disjoint("bias", args.bias, "the outputs", out);
    contract.disjoint("targets", args.targets, "the outputs", out);
  }
  queue.operations().cross_entropy_forward(queue, args);
}

void cross_entropy_backward(Queue& queue, const CrossEntropyBackward& args) {
  const Contract contract("cross_entropy_backward");
  contract.activation("logits", args.logits, 2);
  const Shape rows{args.logits.shape[0]};
  const Shape classes{args.logits.shape[1]};
  if (args.bias.empty()) {
    contract.absent("dbias", args.dbias, "without a bias");
  } else {
    contract.floats("bias", args.bias, classes);
    contract.floats("dbias", args.dbias, classes);
  }
  contract.indices("targets", args.targets, classes[0], queue.device(), kNotScored);
  contract.tensor("targets", args.targets, DType::kInt32, rows);
  contract.floats("lse", args.lse, rows);
  for (const TensorView& out : {args.logits, args.dbias}) {
    contract.disjoint("bias", args.bias, "the outputs", out);
    contract.disjoint("targets", args.targets, "the outputs", out);
    contract.disjoint("lse", args.lse, "the outputs", out);
  }
  contract.disjoint("logits", args.logits, "dbias", args.dbias);
  queue.operations().cross_entropy_backward(queue, args);
}

}  // namespace segue::kernels

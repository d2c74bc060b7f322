// Layer normalisation: what the arguments must be.
#include "kernels/layer_norm.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

void check_width(const Contract& contract, int64_t features) {
  contract.number("features", static_cast<double>(features), features <= kMaxNormWidth, "at most {}", kMaxNormWidth);
}

void check_forward_aliasing(const Contract& contract, const LayerNormForward& args) {
  contract.same_or_disjoint("sum", args.sum, "x", args.x);
  contract.same_or_disjoint("sum", args.sum, "branch", args.branch);
  for (const TensorView& out : {args.sum, args.y, args.mean, args.rstd}) {
    contract.disjoint("gain", args.gain, "the outputs", out);
    contract.disjoint("bias", args.bias, "the outputs", out);
  }
  for (const ConstTensorView& in : {args.x, args.branch, ConstTensorView(args.sum)}) {
    contract.disjoint("y", args.y, "x, branch and sum", in);
    contract.disjoint("mean", args.mean, "x, branch and sum", in);
    contract.disjoint("rstd", args.rstd, "x, branch and sum", in);
  }
}

void check_backward_aliasing(const Contract& contract, const LayerNormBackward& args) {
  contract.same_or_disjoint("dx", args.dx, "dy", args.dy);
  contract.same_or_disjoint("dx", args.dx, "ds_other", args.ds_other);
  contract.same_or_disjoint("dbranch", args.dbranch, "dy", args.dy);
  contract.same_or_disjoint("dbranch", args.dbranch, "ds_other", args.ds_other);
  contract.disjoint("dbranch", args.dbranch, "dx", args.dx);
  for (const TensorView& out : {args.dx, args.dbranch, args.dgain, args.dbias}) {
    contract.disjoint("sum", args.sum, "the gradients", out);
    contract.disjoint("mean", args.mean, "the gradients", out);
    contract.disjoint("rstd", args.rstd, "the gradients", out);
    contract.disjoint("gain", args.gain, "the gradients", out);
  }
}

}  // namespace

void layer_norm_forward(Queue& queue, const LayerNormForward& args) {
  const Contract contract("layer_norm_forward");
  const DType a = contract.activation("x", args.x, 2);
  check_width(contract, args.x.shape[1]);
  const Shape features{args.x.shape[1]};
  const Shape rows{args.x.shape[0]};
  if (args.branch.empty()) {
    contract.absent("sum", args.sum, "without a branch");
  } else {
    contract.tensor("branch", args.branch, a, args.x.shape);
    contract.tensor("sum", args.sum, a, args.x.shape);
  }
  contract.floats("gain", args.gain, features);
  contract.floats("bias", args.bias, features);
  contract.tensor("y", args.y, a, args.x.shape);
  contract.floats("mean", args.mean, rows);
  contract.floats("rstd", args.rstd, rows);
  contract.probability("dropout.p", args.dropout.p);
  check_forward_aliasing(contract, args);
  queue.operations().layer_norm_forward(queue, args);
}

void layer_norm_backward(Queue& queue, const LayerNormBackward& args) {
  const Contract contract("layer_norm_backward");
  const DType a = contract.activation("dy", args.dy, 2);
  check_width(contract, args.dy.shape[1]);
  const Shape features{args.dy.shape[1]};
  const Shape rows{args.dy.shape[0]};
  contract.tensor("sum", args.sum, a, args.dy.shape);
  contract.floats("mean", args.mean, rows);
  contract.floats("rstd", args.rstd, rows);
  contract.floats("gain", args.gain, features);
  if (!args.ds_other.empty()) contract.tensor("ds_other", args.ds_other, a, args.dy.shape);
  if (!args.dx.empty()) contract.tensor("dx", args.dx, a, args.dy.shape);
  if (!args.dbranch.empty()) contract.tensor("dbranch", args.dbranch, a, args.dy.shape);
  if (args.dgain.empty()) {
    contract.absent("dbias", args.dbias, "without dgain");
  } else {
    contract.floats("dgain", args.dgain, features);
    contract.floats("dbias", args.dbias, features);
  }
  contract.probability("dropout.p", args.dropout.p);
  check_backward_aliasing(contract, args);
  queue.operations().layer_norm_backward(queue, args);
}

}  // namespace segue::kernels

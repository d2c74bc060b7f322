// The feed-forward network: what the arguments must be.
#include "kernels/feed_forward.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

void check_pre(const Contract& contract, ConstTensorView pre, Activation activation, DType a, const Shape& shape) {
  if (activation == Activation::kGelu) {
    contract.tensor("pre", pre, a, shape);
  } else {
    contract.absent("pre", pre, "for ReLU");
  }
}

void check_forward_aliasing(const Contract& contract, const FeedForwardForward& args) {
  contract.disjoint("hidden", args.hidden, "pre", args.pre);
  contract.disjoint("hidden", args.hidden, "y", args.y);
  contract.disjoint("pre", args.pre, "y", args.y);
  for (const TensorView& out : {args.pre, args.hidden, args.y}) {
    contract.disjoint("x", args.x, "the outputs", out);
    contract.disjoint("w1", args.w1, "the outputs", out);
    contract.disjoint("b1", args.b1, "the outputs", out);
    contract.disjoint("w2", args.w2, "the outputs", out);
    contract.disjoint("b2", args.b2, "the outputs", out);
  }
}

void check_backward_aliasing(const Contract& contract, const FeedForwardBackward& args) {
  for (const TensorView& out : {args.workspace, args.dx, args.dw1, args.db1, args.dw2, args.db2}) {
    contract.disjoint("dy", args.dy, "the outputs", out);
    contract.disjoint("x", args.x, "the outputs", out);
    contract.disjoint("w1", args.w1, "the outputs", out);
    contract.disjoint("w2", args.w2, "the outputs", out);
    contract.disjoint("pre", args.pre, "the outputs", out);
    contract.disjoint("hidden", args.hidden, "the outputs", out);
  }
  for (const TensorView& out : {args.dx, args.dw1, args.db1, args.dw2, args.db2})
    contract.disjoint("workspace", args.workspace, "the gradients", out);
}

}  // namespace

void feed_forward_forward(Queue& queue, const FeedForwardForward& args) {
  const Contract contract("feed_forward_forward");
  const DType a = contract.activation("x", args.x, 2);
  contract.activation("hidden", args.hidden, 2);
  const int64_t rows = args.x.shape[0];
  const int64_t d = args.x.shape[1];
  const int64_t f = args.hidden.shape[1];
  contract.tensor("hidden", args.hidden, a, {rows, f});
  contract.tensor("w1", args.w1, a, {f, d});
  contract.floats("b1", args.b1, {f});
  contract.tensor("w2", args.w2, a, {d, f});
  contract.floats("b2", args.b2, {d});
  contract.tensor("y", args.y, a, {rows, d});
  check_pre(contract, args.pre, args.activation, a, {rows, f});
  contract.probability("dropout.p", args.dropout.p);
  check_forward_aliasing(contract, args);
  queue.operations().feed_forward_forward(queue, args);
}

void feed_forward_backward(Queue& queue, const FeedForwardBackward& args) {
  const Contract contract("feed_forward_backward");
  const DType a = contract.activation("dy", args.dy, 2);
  contract.activation("hidden", args.hidden, 2);
  const int64_t rows = args.dy.shape[0];
  const int64_t d = args.dy.shape[1];
  const int64_t f = args.hidden.shape[1];
  contract.tensor("hidden", args.hidden, a, {rows, f});
  contract.tensor("x", args.x, a, {rows, d});
  contract.tensor("w1", args.w1, a, {f, d});
  contract.tensor("w2", args.w2, a, {d, f});
  check_pre(contract, args.pre, args.activation, a, {rows, f});
  contract.probability("dropout.p", args.dropout.p);
  contract.tensor("workspace", args.workspace, a, {rows, f});
  contract.tensor("dx", args.dx, a, {rows, d});
  contract.floats("dw1", args.dw1, {f, d});
  contract.floats("db1", args.db1, {f});
  contract.floats("dw2", args.dw2, {d, f});
  contract.floats("db2", args.db2, {d});
  check_backward_aliasing(contract, args);
  queue.operations().feed_forward_backward(queue, args);
}

}  // namespace segue::kernels

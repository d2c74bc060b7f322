// The feed-forward network: the door.
#include "kernels/feed_forward.h"

#include "kernels/check.h"
#include "kernels/cpu/feed_forward.h"

namespace segue::kernels {

namespace {

void check_pre(const Contract& contract, ConstTensorView pre, Activation activation, const Shape& shape) {
  if (activation == Activation::kGelu) {
    contract.floats("pre", pre, shape);
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

void feed_forward_forward(Stream& stream, const FeedForwardForward& args) {
  const Contract contract("feed_forward_forward");
  contract.rank("x", args.x, 2);
  contract.rank("hidden", args.hidden, 2);
  const int64_t rows = args.x.shape[0];
  const int64_t d = args.x.shape[1];
  const int64_t f = args.hidden.shape[1];
  contract.floats("hidden", args.hidden, {rows, f});
  contract.floats("w1", args.w1, {f, d});
  contract.floats("b1", args.b1, {f});
  contract.floats("w2", args.w2, {d, f});
  contract.floats("b2", args.b2, {d});
  contract.floats("y", args.y, {rows, d});
  check_pre(contract, args.pre, args.activation, {rows, f});
  contract.probability("dropout.p", args.dropout.p);
  check_forward_aliasing(contract, args);
  cpu::feed_forward_forward(stream, args);
}

void feed_forward_backward(Stream& stream, const FeedForwardBackward& args) {
  const Contract contract("feed_forward_backward");
  contract.rank("dy", args.dy, 2);
  contract.rank("hidden", args.hidden, 2);
  const int64_t rows = args.dy.shape[0];
  const int64_t d = args.dy.shape[1];
  const int64_t f = args.hidden.shape[1];
  contract.floats("hidden", args.hidden, {rows, f});
  contract.floats("x", args.x, {rows, d});
  contract.floats("w1", args.w1, {f, d});
  contract.floats("w2", args.w2, {d, f});
  check_pre(contract, args.pre, args.activation, {rows, f});
  contract.probability("dropout.p", args.dropout.p);
  contract.floats("workspace", args.workspace, {rows, f});
  contract.floats("dx", args.dx, {rows, d});
  contract.floats("dw1", args.dw1, {f, d});
  contract.floats("db1", args.db1, {f});
  contract.floats("dw2", args.dw2, {d, f});
  contract.floats("db2", args.db2, {d});
  check_backward_aliasing(contract, args);
  cpu::feed_forward_backward(stream, args);
}

}  // namespace segue::kernels

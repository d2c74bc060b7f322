// Dropout: what the arguments must be.
#include "kernels/dropout.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

// In place only when overwriting: accumulation needs the old value besides the operand.
void check_aliasing(const Contract& contract, std::string_view out_name, ConstTensorView out, std::string_view in_name,
                    ConstTensorView in, bool accumulate) {
  if (accumulate) {
    contract.disjoint(out_name, out, in_name, in);
  } else {
    contract.same_or_disjoint(out_name, out, in_name, in);
  }
}

}  // namespace

void dropout_forward(Queue& queue, const DropoutForward& args) {
  const Contract contract("dropout_forward");
  const DType a = contract.activation("x", args.x, args.x.shape.rank());
  contract.tensor("y", args.y, a, args.x.shape);
  check_aliasing(contract, "y", args.y, "x", args.x, args.accumulate);
  contract.probability("dropout.p", args.dropout.p);
  queue.operations().dropout_forward(queue, args);
}

void dropout_backward(Queue& queue, const DropoutBackward& args) {
  const Contract contract("dropout_backward");
  const DType a = contract.activation("dy", args.dy, args.dy.shape.rank());
  contract.tensor("dx", args.dx, a, args.dy.shape);
  check_aliasing(contract, "dx", args.dx, "dy", args.dy, args.accumulate);
  contract.probability("dropout.p", args.dropout.p);
  queue.operations().dropout_backward(queue, args);
}

}  // namespace segue::kernels

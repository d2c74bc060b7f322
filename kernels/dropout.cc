// Dropout: the door.
#include "kernels/dropout.h"

#include "kernels/check.h"
#include "kernels/cpu/dropout.h"

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

void dropout_forward(Stream& stream, const DropoutForward& args) {
  const Contract contract("dropout_forward");
  contract.floats("x", args.x, args.x.shape);
  contract.floats("y", args.y, args.x.shape);
  check_aliasing(contract, "y", args.y, "x", args.x, args.accumulate);
  contract.probability("dropout.p", args.dropout.p);
  cpu::dropout_forward(stream, args);
}

void dropout_backward(Stream& stream, const DropoutBackward& args) {
  const Contract contract("dropout_backward");
  contract.floats("dy", args.dy, args.dy.shape);
  contract.floats("dx", args.dx, args.dy.shape);
  check_aliasing(contract, "dx", args.dx, "dy", args.dy, args.accumulate);
  contract.probability("dropout.p", args.dropout.p);
  cpu::dropout_backward(stream, args);
}

}  // namespace segue::kernels

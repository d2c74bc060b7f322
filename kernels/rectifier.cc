// The rectifier: what the arguments must be.
#include "kernels/rectifier.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void rectifier_forward(Queue& queue, const RectifierForward& args) {
  const Contract contract("rectifier_forward");
  const DType a = contract.activation("x", args.x, args.x.shape.rank());
  contract.tensor("y", args.y, a, args.x.shape);
  contract.same_or_disjoint("y", args.y, "x", args.x);
  queue.operations().rectifier_forward(queue, args);
}

void rectifier_backward(Queue& queue, const RectifierBackward& args) {
  const Contract contract("rectifier_backward");
  const DType a = contract.activation("dy", args.dy, args.dy.shape.rank());
  contract.tensor("y", args.y, a, args.dy.shape);
  contract.tensor("dx", args.dx, a, args.dy.shape);
  contract.disjoint("dx", args.dx, "y", args.y);
  if (args.accumulate) {
    contract.disjoint("dx", args.dx, "dy", args.dy);
  } else {
    contract.same_or_disjoint("dx", args.dx, "dy", args.dy);
  }
  queue.operations().rectifier_backward(queue, args);
}

}  // namespace segue::kernels

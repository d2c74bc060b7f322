// Numbers in another precision: what the arguments must be.
#include "kernels/convert.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void convert(Queue& queue, const Conversion& args) {
  const Contract contract("convert");
  contract.activation("x", args.x, args.x.shape.rank());
  contract.activation("y", args.y, args.x.shape.rank());
  contract.tensor("y", args.y, args.y.dtype, args.x.shape);
  contract.disjoint("y", args.y, "x", args.x);
  if (args.x.elements() == 0) return;
  queue.operations().convert(queue, args);
}

}  // namespace segue::kernels

// Numbers kept in a range: what the arguments must be.
#include "kernels/clamp.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void clamp(Queue& queue, const Clamp& args) {
  const Contract contract("clamp");
  contract.activation("x", args.x, args.x.shape.rank());
  contract.number("highest", static_cast<double>(args.highest), args.highest >= args.lowest, "at least lowest = {}",
                  args.lowest);
  queue.operations().clamp(queue, args);
}

}  // namespace segue::kernels

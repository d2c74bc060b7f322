// Groups of rows pooled into one row each: what the arguments must be.
#include "kernels/pool_rows.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void pool_rows(Queue& queue, const PoolRows& args) {
  const Contract contract("pool_rows");
  const DType a = contract.activation("x", args.x, 3);
  const int64_t size = args.x.shape[1];
  contract.number("rows of a group", static_cast<double>(size), size >= 1, "at least 1");
  contract.tensor("y", args.y, a, {args.x.shape[0], args.x.shape[2]});
  contract.disjoint("y", args.y, "x", args.x);
  if (args.x.elements() == 0) return;
  queue.operations().pool_rows(queue, args);
}

}  // namespace segue::kernels

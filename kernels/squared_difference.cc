// How far one tensor is from another: what the arguments must be.
#include "kernels/squared_difference.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void squared_difference_forward(Queue& queue, const SquaredDifferenceForward& args) {
  const Contract contract("squared_difference_forward");
  const DType a = contract.activation("a", args.a, 2);
  contract.tensor("b", args.b, a, args.a.shape);
  const int64_t elements = args.a.shape[1];
  contract.number("elements of a stream", static_cast<double>(elements), elements >= 1, "at least 1");
  contract.floats("sums", args.sums, {args.a.shape[0]});
  contract.disjoint("sums", args.sums, "a", args.a);
  contract.disjoint("sums", args.sums, "b", args.b);
  queue.operations().squared_difference_forward(queue, args);
}

void squared_difference_backward(Queue& queue, const SquaredDifferenceBackward& args) {
  const Contract contract("squared_difference_backward");
  const DType a = contract.activation("a", args.a, 2);
  contract.tensor("b", args.b, a, args.a.shape);
  contract.tensor("db", args.db, a, args.a.shape);
  contract.disjoint("db", args.db, "a", args.a);
  contract.disjoint("db", args.db, "b", args.b);
  queue.operations().squared_difference_backward(queue, args);
}

}  // namespace segue::kernels

// Sums divided by their weights: what the arguments must be.
#include "kernels/weighted_average.h"

#include <cmath>

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

// Returns the dtype of the call's activations.
DType check_inputs(const Contract& contract, ConstTensorView sums, float floor) {
  const DType a = contract.activation("sums", sums, 2);
  contract.number("H+1", static_cast<double>(sums.shape[1]), sums.shape[1] >= 2, "at least 2");
  contract.number("floor", static_cast<double>(floor), floor > 0.0F && std::isnormal(floor), "a normal number above 0");
  return a;
}

}  // namespace

void weighted_average_forward(Queue& queue, const WeightedAverageForward& args) {
  const Contract contract("weighted_average_forward");
  const DType a = check_inputs(contract, args.sums, args.floor);
  contract.tensor("y", args.y, a, {args.sums.shape[0], args.sums.shape[1] - 1});
  contract.disjoint("y", args.y, "sums", args.sums);
  if (args.sums.shape[0] == 0) return;
  queue.operations().weighted_average_forward(queue, args);
}

void weighted_average_backward(Queue& queue, const WeightedAverageBackward& args) {
  const Contract contract("weighted_average_backward");
  const DType a = check_inputs(contract, args.sums, args.floor);
  contract.tensor("dy", args.dy, a, {args.sums.shape[0], args.sums.shape[1] - 1});
  contract.tensor("dsums", args.dsums, a, args.sums.shape);
  contract.disjoint("dsums", args.dsums, "sums", args.sums);
  contract.disjoint("dsums", args.dsums, "dy", args.dy);
  if (args.sums.shape[0] == 0) return;
  queue.operations().weighted_average_backward(queue, args);
}

}  // namespace segue::kernels

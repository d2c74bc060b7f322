// Curves of distance: what the arguments must be.
#include "kernels/distance_curve.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void distance_curve_forward(Queue& queue, const DistanceCurveForward& args) {
  const Contract contract("distance_curve_forward");
  contract.rank("curve", args.curve, 2);
  const int64_t heads = args.curve.shape[0];
  contract.floats("alpha", args.alpha, {heads});
  contract.floats("beta", args.beta, {heads});
  contract.disjoint("curve", args.curve, "alpha", args.alpha);
  contract.disjoint("curve", args.curve, "beta", args.beta);
  queue.operations().distance_curve_forward(queue, args);
}

void distance_curve_backward(Queue& queue, const DistanceCurveBackward& args) {
  const Contract contract("distance_curve_backward");
  contract.rank("dcurve", args.dcurve, 2);
  const int64_t heads = args.dcurve.shape[0];
  for (const auto& [name, values] : {std::pair<std::string_view, ConstTensorView>{"alpha", args.alpha},
                                     {"beta", args.beta},
                                     {"dalpha", args.dalpha},
                                     {"dbeta", args.dbeta}})
    contract.floats(name, values, {heads});
  for (const auto& [name, sums] :
       {std::pair<std::string_view, ConstTensorView>{"dalpha", args.dalpha}, {"dbeta", args.dbeta}}) {
    contract.disjoint(name, sums, "alpha", args.alpha);
    contract.disjoint(name, sums, "beta", args.beta);
    contract.disjoint(name, sums, "dcurve", args.dcurve);
  }
  contract.disjoint("dbeta", args.dbeta, "dalpha", args.dalpha);
  queue.operations().distance_curve_backward(queue, args);
}

}  // namespace segue::kernels

// Gains by distance: what the arguments must be.
#include "kernels/distance_gain.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void distance_gain_forward(Queue& queue, const DistanceGainForward& args) {
  const Contract contract("distance_gain_forward");
  contract.rank("gain", args.gain, 2);
  const int64_t heads = args.gain.shape[0];
  contract.floats("alpha", args.alpha, {heads});
  contract.floats("beta", args.beta, {heads});
  contract.disjoint("gain", args.gain, "alpha", args.alpha);
  contract.disjoint("gain", args.gain, "beta", args.beta);
  queue.operations().distance_gain_forward(queue, args);
}

void distance_gain_backward(Queue& queue, const DistanceGainBackward& args) {
  const Contract contract("distance_gain_backward");
  contract.rank("dgain", args.dgain, 2);
  const int64_t heads = args.dgain.shape[0];
  for (const auto& [name, values] : {std::pair<std::string_view, ConstTensorView>{"alpha", args.alpha},
                                     {"beta", args.beta},
                                     {"dalpha", args.dalpha},
                                     {"dbeta", args.dbeta}})
    contract.floats(name, values, {heads});
  for (const auto& [name, sums] :
       {std::pair<std::string_view, ConstTensorView>{"dalpha", args.dalpha}, {"dbeta", args.dbeta}}) {
    contract.disjoint(name, sums, "alpha", args.alpha);
    contract.disjoint(name, sums, "beta", args.beta);
    contract.disjoint(name, sums, "dgain", args.dgain);
  }
  contract.disjoint("dbeta", args.dbeta, "dalpha", args.dalpha);
  queue.operations().distance_gain_backward(queue, args);
}

}  // namespace segue::kernels

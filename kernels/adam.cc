// Adam: the door.
#include "kernels/adam.h"

#include "kernels/check.h"
#include "kernels/cpu/adam.h"

namespace segue::kernels {

double gradient_norm(Stream& stream, ConstTensorView gradients) {
  Contract("gradient_norm").rank("gradients", gradients, 1);
  return cpu::gradient_norm(stream, gradients);
}

void adam_step(Stream& stream, const AdamStep& args) {
  const Contract contract("adam_step");
  contract.rank("parameters", args.parameters, 1);
  contract.floats("gradients", args.gradients, args.parameters.shape);
  contract.floats("first_moment", args.first_moment, args.parameters.shape);
  contract.floats("second_moment", args.second_moment, args.parameters.shape);
  contract.disjoint("parameters", args.parameters, "gradients", args.gradients);
  contract.disjoint("parameters", args.parameters, "first_moment", args.first_moment);
  contract.disjoint("parameters", args.parameters, "second_moment", args.second_moment);
  contract.disjoint("first_moment", args.first_moment, "gradients", args.gradients);
  contract.disjoint("first_moment", args.first_moment, "second_moment", args.second_moment);
  contract.disjoint("second_moment", args.second_moment, "gradients", args.gradients);
  contract.number("beta1", args.beta1, args.beta1 >= 0.0 && args.beta1 < 1.0, "[0, 1)");
  contract.number("beta2", args.beta2, args.beta2 >= 0.0 && args.beta2 < 1.0, "[0, 1)");
  contract.number("epsilon", args.epsilon, args.epsilon >= 0.0, "0 or more");
  contract.number("step", static_cast<double>(args.step), args.step >= 1, "1 or more");
  cpu::adam_step(stream, args);
}

}  // namespace segue::kernels

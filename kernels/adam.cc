// Adam: the door.
#include "kernels/adam.h"

#include "kernels/check.h"
#include "kernels/cpu/adam.h"
#include "kernels/cuda/adam.h"

namespace segue::kernels {

void gradient_norm(Stream& stream, const GradientNorm& args) {
  const Contract contract("gradient_norm");
  contract.rank("gradients", args.gradients, 1);
  contract.tensor("parts", args.parts, DType::kFloat64, {kGradientNormParts});
  if (stream.device().is_cuda()) return cuda::gradient_norm(stream, args);
  cpu::gradient_norm(stream, args);
}

void clip_gradients(Stream& stream, const GradientClip& args) {
  const Contract contract("clip_gradients");
  contract.tensor("parts", args.parts, DType::kFloat64, {kGradientNormParts});
  contract.number("clip", args.clip, args.clip >= 0.0, "0 or more");
  contract.tensor("outcome", args.outcome, DType::kFloat64, {2});
  contract.disjoint("outcome", args.outcome, "parts", args.parts);
  if (stream.device().is_cuda()) return cuda::clip_gradients(stream, args);
  cpu::clip_gradients(stream, args);
}

void adam_step(Stream& stream, const AdamStep& args) {
  const Contract contract("adam_step");
  contract.rank("parameters", args.parameters, 1);
  contract.floats("gradients", args.gradients, args.parameters.shape);
  contract.floats("first_moment", args.first_moment, args.parameters.shape);
  contract.floats("second_moment", args.second_moment, args.parameters.shape);
  if (!stream.device().is_cuda()) {
    contract.absent("compute_copy", args.compute_copy, "on the CPU");
  } else if (!args.compute_copy.empty()) {
    contract.tensor("compute_copy", args.compute_copy, DType::kBFloat16, args.parameters.shape);
  }
  if (!args.clipped.empty()) contract.tensor("clipped", args.clipped, DType::kFloat64, {2});
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
  if (stream.device().is_cuda()) return cuda::adam_step(stream, args);
  cpu::adam_step(stream, args);
}

}  // namespace segue::kernels

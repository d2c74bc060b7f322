// Gradient clipping: what the arguments must be.
#include "kernels/gradient_clip.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void gradient_norm(Queue& queue, const GradientNorm& args) {
  const Contract contract("gradient_norm");
  contract.rank("gradients", args.gradients, 1);
  contract.tensor("parts", args.parts, DType::kFloat64, {kGradientNormParts});
  queue.operations().gradient_norm(queue, args);
}

void clip_gradients(Queue& queue, const GradientClip& args) {
  const Contract contract("clip_gradients");
  contract.tensor("parts", args.parts, DType::kFloat64, {kGradientNormParts});
  contract.number("clip", args.clip, args.clip >= 0.0, "0 or more");
  contract.tensor("outcome", args.outcome, DType::kFloat64, {2});
  contract.disjoint("outcome", args.outcome, "parts", args.parts);
  queue.operations().clip_gradients(queue, args);
}

}  // namespace segue::kernels

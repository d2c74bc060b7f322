// Steps of optimizers: what the arguments must be, and the scalars of a step.
#include "kernels/optimizer_step.h"

#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

using NamedView = std::pair<std::string_view, ConstTensorView>;

// `moments`: the tensors that the step changes besides.
void check_update(const Contract& contract, const ParameterUpdate& args, std::initializer_list<NamedView> moments) {
  contract.rank("parameters", args.parameters, 1);
  contract.floats("gradients", args.gradients, args.parameters.shape);
  if (!args.compute_copy.empty())
    contract.tensor("compute_copy", args.compute_copy, DType::kBFloat16, args.parameters.shape);
  if (!args.clipped.empty()) contract.tensor("clipped", args.clipped, DType::kFloat64, {2});
  contract.disjoint("parameters", args.parameters, "gradients", args.gradients);
  for (const auto& [name, moment] : moments) {
    contract.floats(name, moment, args.parameters.shape);
    contract.disjoint("parameters", args.parameters, name, moment);
    contract.disjoint(name, moment, "gradients", args.gradients);
    for (const auto& [other_name, other] : moments) {
      if (&other != &moment) contract.disjoint(name, moment, other_name, other);
    }
  }
}

AdamFormula formula_of(const AdamStep& args) {
  const auto step = static_cast<double>(args.step);
  const double rate = args.update.learning_rate;
  return {.beta1 = static_cast<float>(args.beta1),
          .rest1 = static_cast<float>(1.0 - args.beta1),
          .beta2 = static_cast<float>(args.beta2),
          .rest2 = static_cast<float>(1.0 - args.beta2),
          .decay = static_cast<float>(1.0 - rate * args.weight_decay),
          .rate = static_cast<float>(rate / (1.0 - std::pow(args.beta1, step))),
          .root_scale = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(args.beta2, step))),
          .epsilon = static_cast<float>(args.epsilon)};
}

}  // namespace

void adam_step(Queue& queue, const AdamStep& args) {
  const Contract contract("adam_step");
  check_update(contract, args.update, {{"first_moment", args.first_moment}, {"second_moment", args.second_moment}});
  contract.number("beta1", args.beta1, args.beta1 >= 0.0 && args.beta1 < 1.0, "[0, 1)");
  contract.number("beta2", args.beta2, args.beta2 >= 0.0 && args.beta2 < 1.0, "[0, 1)");
  contract.number("epsilon", args.epsilon, args.epsilon >= 0.0, "0 or more");
  contract.number("step", static_cast<double>(args.step), args.step >= 1, "1 or more");
  queue.operations().update_elements(queue, {args.update, {args.first_moment, args.second_moment}, formula_of(args)});
}

void adagrad_step(Queue& queue, const AdagradStep& args) {
  const Contract contract("adagrad_step");
  check_update(contract, args.update, {{"sum_of_squares", args.sum_of_squares}});
  contract.number("epsilon", args.epsilon, args.epsilon >= 0.0, "0 or more");
  const AdagradFormula formula{.rate = static_cast<float>(args.update.learning_rate),
                               .epsilon = static_cast<float>(args.epsilon)};
  queue.operations().update_elements(queue, {args.update, {args.sum_of_squares}, formula});
}

void sgd_step(Queue& queue, const SgdStep& args) {
  const Contract contract("sgd_step");
  contract.number("momentum", args.momentum, args.momentum >= 0.0 && args.momentum < 1.0, "[0, 1)");
  const auto rate = static_cast<float>(args.update.learning_rate);
  if (args.momentum == 0.0) {
    check_update(contract, args.update, {});
    contract.absent("velocity", args.velocity, "without momentum");
    return queue.operations().update_elements(queue, {args.update, {}, SgdFormula{.rate = rate}});
  }
  check_update(contract, args.update, {{"velocity", args.velocity}});
  const MomentumFormula formula{.rate = rate, .momentum = static_cast<float>(args.momentum)};
  queue.operations().update_elements(queue, {args.update, {args.velocity}, formula});
}

}  // namespace segue::kernels

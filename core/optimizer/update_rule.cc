// The rules that take each element by itself, piece by piece.
#include "core/optimizer/update_rule.h"

#include <utility>

#include "base/error.h"
#include "kernels/optimizer_step.h"

namespace segue {

namespace {

class ElementwiseRule : public UpdateRule {
 public:
  ElementwiseRule(const OptimizerConfig& config, UpdateRuleParts parts) : config_(config), parts_(std::move(parts)) {}

  void queue(const UpdateInputs& inputs) override {
    for (const Piece& piece : parts_.pieces) {
      const TensorView copy = parts_.parameters.compute_copy();
      queue_piece({.parameters = part_of(parts_.parameters.values(), piece.flat),
                   .gradients = part_of(inputs.gradients, piece.own),
                   .compute_copy = copy.empty() ? copy : part_of(copy, piece.flat),
                   .clipped = inputs.clipped,
                   .learning_rate = inputs.learning_rate},
                  piece.own, inputs.step);
    }
  }

 protected:
  virtual void queue_piece(const kernels::ParameterUpdate& update, const Share& own, int64_t step) = 0;
  TensorView moment(size_t i, const Share& own) const { return part_of(parts_.moments[i], own); }
  const OptimizerConfig& config() const { return config_; }
  kernels::Queue& queue() const { return parts_.queue; }

 private:
  OptimizerConfig config_;
  UpdateRuleParts parts_;
};

class AdamRule : public ElementwiseRule {
  using ElementwiseRule::ElementwiseRule;
  void queue_piece(const kernels::ParameterUpdate& update, const Share& own, int64_t step) override {
    kernels::adam_step(queue(), {.update = update,
                                 .first_moment = moment(0, own),
                                 .second_moment = moment(1, own),
                                 .beta1 = config().beta1,
                                 .beta2 = config().beta2,
                                 .epsilon = effective_epsilon(config()),
                                 .weight_decay = config().weight_decay,
                                 .step = step});
  }
};

class AdagradRule : public ElementwiseRule {
  using ElementwiseRule::ElementwiseRule;
  void queue_piece(const kernels::ParameterUpdate& update, const Share& own, int64_t /*step*/) override {
    kernels::adagrad_step(queue(),
                          {.update = update, .sum_of_squares = moment(0, own), .epsilon = effective_epsilon(config())});
  }
};

class SgdRule : public ElementwiseRule {
  using ElementwiseRule::ElementwiseRule;
  void queue_piece(const kernels::ParameterUpdate& update, const Share& own, int64_t /*step*/) override {
    const bool keeps = config().momentum > 0.0;
    kernels::sgd_step(
        queue(), {.update = update, .velocity = keeps ? moment(0, own) : TensorView{}, .momentum = config().momentum});
  }
};

}  // namespace

std::vector<std::string_view> moment_names(const OptimizerConfig& config) {
  switch (config.kind) {
    case OptimizerKind::kAdagrad:
      return {"sum_of_squares"};
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw:
    case OptimizerKind::kLamb:
      return {"first_moment", "second_moment"};
    case OptimizerKind::kSgd:
      break;
  }
  if (config.momentum == 0.0) return {};
  return {"velocity"};
}

// The one in a file of its own.
UpdateRuleMaker make_lamb_rule;

std::unique_ptr<UpdateRule> make_update_rule(const OptimizerConfig& config, UpdateRuleParts parts) {
  switch (config.kind) {
    case OptimizerKind::kAdagrad:
      return std::make_unique<AdagradRule>(config, std::move(parts));
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw:
      return std::make_unique<AdamRule>(config, std::move(parts));
    case OptimizerKind::kLamb:
      return make_lamb_rule(config, std::move(parts));
    case OptimizerKind::kSgd:
      return std::make_unique<SgdRule>(config, std::move(parts));
  }
  throw ContractError("unknown optimizer kind");
}

}  // namespace segue

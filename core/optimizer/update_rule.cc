// The rules that take each element by itself, piece by piece.
#include "core/optimizer/update_rule.h"

#include <utility>

#include "base/error.h"
#include "kernels/optimizer_step.h"

namespace segue {

namespace {

struct DecayedPiece {
  Piece piece;
  bool is_decayed;
};

// Pieces cut where parameters begin and end that do not decay.
std::vector<DecayedPiece> decayed_apart(const Parameters& parameters, const std::vector<Piece>& pieces) {
  std::vector<DecayedPiece> cut;
  for (const Piece& piece : pieces) {
    int64_t done = 0;
    const auto add = [&](int64_t end, bool is_decayed) {
      if (end == done) return;
      cut.push_back(
          {.piece = {.flat = {piece.flat.first + done, end - done}, .own = {piece.own.first + done, end - done}},
           .is_decayed = is_decayed});
      done = end;
    };
    for (size_t i = 0; i < parameters.specs().size(); ++i) {
      if (parameters.specs()[i].decays()) continue;
      const Share undecayed =
          common_part({parameters.offset_of(i), parameters.specs()[i].shape.elements()}, piece.flat);
      if (undecayed.count == 0) continue;
      add(undecayed.first - piece.flat.first, true);
      add(undecayed.first + undecayed.count - piece.flat.first, false);
    }
    add(piece.flat.count, true);
  }
  return cut;
}

class ElementwiseRule : public UpdateRule {
 public:
  ElementwiseRule(const OptimizerConfig& config, UpdateRuleParts parts)
      : config_(config), parts_(std::move(parts)), pieces_(decayed_apart(parts_.parameters, parts_.pieces)) {}

  void queue(const UpdateInputs& inputs) override {
    for (const auto& [piece, is_decayed] : pieces_) {
      const TensorView copy = parts_.parameters.compute_copy();
      queue_piece({.parameters = part_of(parts_.parameters.values(), piece.flat),
                   .gradients = part_of(inputs.gradients, piece.own),
                   .compute_copy = copy.empty() ? copy : part_of(copy, piece.flat),
                   .clipped = inputs.clipped,
                   .learning_rate = inputs.learning_rate},
                  {.own = piece.own, .weight_decay = is_decayed ? config_.weight_decay : 0.0, .step = inputs.step});
    }
  }

 protected:
  struct PieceUpdate {
    Share own;
    double weight_decay;
    int64_t step;
  };
  virtual void queue_piece(const kernels::ParameterUpdate& update, const PieceUpdate& piece) = 0;
  TensorView moment(size_t i, const Share& own) const { return part_of(parts_.moments[i], own); }
  const OptimizerConfig& config() const { return config_; }
  kernels::Queue& queue() const { return parts_.queue; }

 private:
  OptimizerConfig config_;
  UpdateRuleParts parts_;
  std::vector<DecayedPiece> pieces_;
};

class AdamRule : public ElementwiseRule {
  using ElementwiseRule::ElementwiseRule;
  void queue_piece(const kernels::ParameterUpdate& update, const PieceUpdate& piece) override {
    kernels::adam_step(queue(), {.update = update,
                                 .first_moment = moment(0, piece.own),
                                 .second_moment = moment(1, piece.own),
                                 .beta1 = config().beta1,
                                 .beta2 = config().beta2,
                                 .epsilon = effective_epsilon(config()),
                                 .weight_decay = piece.weight_decay,
                                 .step = piece.step});
  }
};

class AdagradRule : public ElementwiseRule {
  using ElementwiseRule::ElementwiseRule;
  void queue_piece(const kernels::ParameterUpdate& update, const PieceUpdate& piece) override {
    kernels::adagrad_step(
        queue(), {.update = update, .sum_of_squares = moment(0, piece.own), .epsilon = effective_epsilon(config())});
  }
};

class SgdRule : public ElementwiseRule {
  using ElementwiseRule::ElementwiseRule;
  void queue_piece(const kernels::ParameterUpdate& update, const PieceUpdate& piece) override {
    const bool keeps = config().momentum > 0.0;
    kernels::sgd_step(
        queue(),
        {.update = update, .velocity = keeps ? moment(0, piece.own) : TensorView{}, .momentum = config().momentum});
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

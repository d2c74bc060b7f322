// The rule of `optimizer.kind`: how clipped gradients change parameters, and what is kept for that between steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/tape/parameters.h"
#include "distributed/share.h"
#include "kernels/queue.h"

namespace segue {

// Elements that are updated together: where they lie among the parameters, and where among what this rank holds of
// gradients and moments.
struct Piece {
  Share flat;
  Share own;
};

// The names under which one kind of optimizer saves what it keeps of every parameter, each a float32 tensor as large as
// the parameters.
std::vector<std::string_view> moment_names(const OptimizerConfig& config);

// The objects that a rule works on. All of them outlive the rule.
struct UpdateRuleParts {
  Parameters& parameters;
  kernels::Queue& queue;
  const std::vector<Piece>& pieces;           // that this rank updates
  std::vector<TensorView> moments;            // [own], in the order of moment_names
  std::function<void(TensorView)> all_ranks;  // queues a sum over those that update other pieces; null: nobody does
};

struct UpdateInputs {
  ConstTensorView gradients;  // [own] float32
  ConstTensorView clipped;    // [2] float64: the outcome of kernels::clip_gradients
  double learning_rate = 0.0;
  int64_t step = 1;  // counted from 1
};

// One implementation per `optimizer.kind`.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  // Queues the update of this rank's pieces and of their compute copy. Called by all ranks.
  virtual void queue(const UpdateInputs& inputs) = 0;
};

std::unique_ptr<UpdateRule> make_update_rule(const OptimizerConfig& config, UpdateRuleParts parts);

// Each kind in a file of its own defines one function of this type there.
using UpdateRuleMaker = std::unique_ptr<UpdateRule>(const OptimizerConfig& config, UpdateRuleParts parts);

// The part of a flat tensor.
inline TensorView part_of(TensorView flat, const Share& part) { return flat.rows(part.first, part.count); }
inline ConstTensorView part_of(ConstTensorView flat, const Share& part) { return flat.rows(part.first, part.count); }

}  // namespace segue

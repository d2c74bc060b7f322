// Parameters that training keeps in a range: the range itself, and what penalties on them add to the gradients.
#pragma once

#include <vector>

#include "core/optimizer/update_rule.h"

namespace segue {

class BoundedParameters {
 public:
  // Of those whose specs have bounds, what lies in the pieces that this rank updates. Everything passed in outlives it.
  BoundedParameters(Parameters& parameters, const std::vector<Piece>& pieces, kernels::Queue& queue);

  // Queues the sum of each element's penalty to its gradient, `gradients` [own]: once in a step, when those of all
  // parts of the batch and of all ranks are summed.
  void add_penalties(TensorView gradients) const;

  // Queues the return into the range of what an update has moved out of it, and of its compute copy.
  void clamp() const;

 private:
  struct Part {
    Share flat;  // among the parameters
    Share own;   // among what this rank holds of gradients
    ParameterBounds bounds;
    OwnedTensor penalties;  // [count], all the same
  };
  Parameters& parameters_;
  kernels::Queue& queue_;
  std::vector<Part> parts_;
};

}  // namespace segue

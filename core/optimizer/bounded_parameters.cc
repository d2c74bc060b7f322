#include "core/optimizer/bounded_parameters.h"

#include <algorithm>
#include <utility>

#include "kernels/clamp.h"
#include "kernels/dropout.h"

namespace segue {

BoundedParameters::BoundedParameters(Parameters& parameters, const std::vector<Piece>& pieces, kernels::Queue& queue)
    : parameters_(parameters), queue_(queue) {
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    if (!spec.bounds) continue;
    for (const Piece& piece : pieces) {
      const Share flat = common_part({parameters.offset_of(i), spec.shape.elements()}, piece.flat);
      if (flat.count == 0) continue;
      OwnedTensor penalties(DType::kFloat32, {flat.count});
      std::fill_n(penalties.as<float>(), flat.count, spec.bounds->penalty);
      parts_.push_back({.flat = flat,
                        .own = {piece.own.first + flat.first - piece.flat.first, flat.count},
                        .bounds = *spec.bounds,
                        .penalties = converted_copy(penalties.view(), DType::kFloat32, queue.device())});
    }
  }
}

void BoundedParameters::add_penalties(TensorView gradients) const {
  for (const Part& part : parts_) {
    if (part.bounds.penalty == 0.0F) continue;
    kernels::dropout_forward(queue_,
                             {.x = part.penalties.view(), .y = part_of(gradients, part.own), .accumulate = true});
  }
}

void BoundedParameters::clamp() const {
  for (const Part& part : parts_) {
    for (const TensorView& flat : {parameters_.values(), parameters_.compute_copy()}) {
      if (flat.empty()) continue;
      kernels::clamp(queue_,
                     {.x = part_of(flat, part.flat), .lowest = part.bounds.lowest, .highest = part.bounds.highest});
    }
  }
}

}  // namespace segue

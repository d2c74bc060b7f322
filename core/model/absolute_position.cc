// Places enter with the embedding; attention gets zeros for what it would know of distances.
#include "core/model/absolute_position.h"

#include "core/model/dropout_sites.h"

namespace segue {

Value AbsolutePosition::enter(Tape& tape, Parameters& parameters, const Value& embedded, const Value& encoding,
                              Slot places) const {
  const Value rows = look_up_places(tape, parameters, encoding, places);
  const Value sum = add(tape, {.stream = embedded, .branch = rows, .site = {}});
  return dropout(tape, sum, {.p = model_.dropout, .site = kEmbeddingDropoutSite});
}

// One row of zeros for all distances, and a gradient that nobody reads.
Value AbsolutePosition::distances(Tape& tape, Parameters& /*parameters*/, int64_t /*layer*/,
                                  const Value& /*encoding*/) const {
  const Shape shape{1, model_.n_head * model_.d_head};
  return {.data = tape.constant(OwnedTensor(DType::kFloat32, shape), tape.activations()),
          .gradient = tape.training() ? tape.new_slot(shape, tape.activations()) : Slot{}};
}

}  // namespace segue

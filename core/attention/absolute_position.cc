// Positions enter with the embedding; attention knows nothing of distances.
#include "core/attention/absolute_position.h"

#include "core/tape/dropout_sites.h"

namespace segue {

Value AbsolutePosition::enter(Tape& tape, Parameters& parameters, const Value& embedded, const Value& encoding,
                              Slot positions) const {
  const Value rows = look_up_positions(tape, parameters, encoding, positions);
  const Value sum = add(tape, {.sum = embedded, .branch = rows, .site = {}});
  return dropout(tape, sum, {.p = model_.dropout, .site = kEmbeddingDropoutSite});
}

}  // namespace segue

// Places enter with the embedding; attention knows nothing of distances.
#include "core/attention/absolute_position.h"

#include "core/tape/dropout_sites.h"

namespace segue {

Value AbsolutePosition::enter(Tape& tape, Parameters& parameters, const Value& embedded, const Value& encoding,
                              Slot places) const {
  const Value rows = look_up_places(tape, parameters, encoding, places);
  const Value sum = add(tape, {.stream = embedded, .branch = rows, .site = {}});
  return dropout(tape, sum, {.p = model_.dropout, .site = kEmbeddingDropoutSite});
}

}  // namespace segue

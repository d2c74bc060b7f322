// What kinds share that add something for a token's place in its segment to its embedding: attention knows nothing of
// positions. Memory holds hidden states, with the places that they had in their own segments: two keys may claim the
// same place, which is what relative positions were made to avoid (Dai et al. 2019, section 3.3).
#pragma once

#include <vector>

#include "core/attention/position.h"

namespace segue {

class AbsolutePosition : public Position {
 public:
  using Position::Position;
  bool is_absolute() const override { return true; }
  Value enter(Tape& tape, Parameters& parameters, const Value& embedded, const Value& encoding,
              Slot places) const override;

 protected:
  // What stands for each place, [B, T, D].
  virtual Value look_up_places(Tape& tape, Parameters& parameters, const Value& encoding, Slot places) const = 0;
};

}  // namespace segue

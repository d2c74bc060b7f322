// Shared by the kinds that add something for a token's position in its segment to its embedding: attention itself knows
// no positions. Memory holds hidden states, with the positions that they had in their own segments: two keys may claim
// the same position, which is what relative positions were made to avoid (Dai et al. 2019, section 3.3).
#pragma once

#include <vector>

#include "core/attention/position.h"

namespace segue {

class AbsolutePosition : public Position {
 public:
  using Position::Position;
  Value enter(Tape& tape, Parameters& parameters, const Value& embedded, const Value& encoding,
              Slot positions) const override;

 protected:
  // The vector of each position, [B, T, D].
  virtual Value look_up_positions(Tape& tape, Parameters& parameters, const Value& encoding, Slot positions) const = 0;
};

}  // namespace segue

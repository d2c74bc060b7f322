// Position ids for absolute positions: the place of every token in its segment, also where a segment comes in parts.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "core/kinds/segment_tape.h"

namespace segue {

class PositionIds {
 public:
  PositionIds(int64_t tgt_len, int64_t streams, Device device);

  // Gives the tape of a part that begins at `position` of its segment those of its tokens. Throws ContractError for
  // several tokens in the middle of a segment.
  void bind(SegmentTape& part, int64_t position) const;

 private:
  OwnedTensor positions_;  // [tgt_len, B] int32: row p holds p
};

}  // namespace segue

#include "core/memory/position_ids.h"

namespace segue {

PositionIds::PositionIds(int64_t tgt_len, int64_t streams, Device device) {
  OwnedTensor positions(DType::kInt32, {tgt_len, streams});
  for (int64_t i = 0; i < tgt_len * streams; ++i) positions.as<int32_t>()[i] = static_cast<int32_t>(i / streams);
  positions_ = converted_copy(positions.view(), DType::kInt32, device);
}

void PositionIds::bind(SegmentTape& part, int64_t position) const {
  if (!part.positions.exists()) return;
  const Shape tokens = part.tape.shape(part.tokens);
  if (tokens[1] == 1)
    return part.tape.bind(part.positions, positions_.view().rows(position, 1).reshaped({tokens[0], 1}));
  if (position != 0)
    throw ContractError("absolute positions: expected one token in the middle of a segment, found {}", tokens[1]);
}

}  // namespace segue

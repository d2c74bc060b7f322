// Tables of small numbers that tapes are given as constants.
#pragma once

#include <cstdint>

#include "base/buffer.h"

namespace segue {

// [B, T] int32: 0 .. period-1 in every stream, and again.
OwnedTensor row_numbers(const Shape& shape, int64_t period);

// [B, T] int32: of every row, how many come after it in its stream: T-1 .. 0.
OwnedTensor rows_after_each(const Shape& shape);

}  // namespace segue

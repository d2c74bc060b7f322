// The operations of a recurrent cell beside gates: attention without positions.
#pragma once

#include <memory>
#include <vector>

#include "core/attention/schedules.h"
#include "core/tape/tape.h"

namespace segue {

// The columns of several values [B, R, W] beside one another: [B, R, sum of W], all of one width. Nothing else may have
// their gradients.
Value beside(Tape& tape, const std::vector<Value>& parts);

// What queries [B, R, N*H] get of all keys and values [B, M, 2*N*H], by content alone: [B, R, N*H]. Nothing recorded
// later may have gradients of either.
Value attend_to_all(Tape& tape, const Shape& heads, const std::shared_ptr<Schedules>& schedules, const Value& queries,
                    const Value& kv);

}  // namespace segue

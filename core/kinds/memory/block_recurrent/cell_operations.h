// The operations of a recurrent cell: attention without positions, and gates column by column.
#pragma once

#include <memory>
#include <vector>

#include "core/attention/schedules.h"
#include "core/tape/parameters.h"
#include "core/tape/tape.h"

namespace segue {

// The columns of several values [B, R, W] beside one another: [B, R, sum of W], all of one width. Nothing else may have
// their gradients.
Value beside(Tape& tape, const std::vector<Value>& parts);

// What queries [B, R, N*H] get of all keys and values [B, M, 2*N*H], by content alone: [B, R, N*H]. Nothing recorded
// later may have gradients of either.
Value attend_to_all(Tape& tape, const Shape& heads, const std::shared_ptr<Schedules>& schedules, const Value& queries,
                    const Value& kv);

// Between activations and float32, in which layers carry values from segment to segment: x itself where activations
// are float32. [B, R, D], D at most kMaxStateValues or with a divisor up to there.
Value to_activations(Tape& tape, const Value& x);
Value to_floats(Tape& tape, const Value& x);

// b + s(logit) (a - b) of every element of a and b [B, R, D], with s(x) = 1 / (1 + e^-x): kernels/blend.h. Logits of
// all rows [D], or of each element [B, R, D] float32. `b` may be missing: zeros.
Value blend_columns(Tape& tape, const Value& a, const Value& b, const Parameter& logits);
Value blend_elements(Tape& tape, const Value& a, const Value& b, const Value& logits);

}  // namespace segue

// Gates that mix values element by element, and what they need: logits in float32, with biases.
#pragma once

#include "core/tape/operations.h"
#include "core/tape/parameters.h"
#include "core/tape/tape.h"

namespace segue {

// The term of a linear_sum [B, R, D] that adds `factor` times a bias [D] to all rows; of `rows` the first two extents
// count.
Product added_bias(Tape& tape, const Shape& rows, const Parameter& bias, float factor = 1.0F);

// Between activations and float32, in which layers carry values from segment to segment: x itself where activations
// are float32. [B, R, D], D at most kMaxStateValues or with a divisor up to there.
Value to_activations(Tape& tape, const Value& x);
Value to_floats(Tape& tape, const Value& x);

// b + s(logit) (a - b) of every element of a and b [B, R, D], with s(x) = 1 / (1 + e^-x): kernels/blend.h. Logits of
// all rows [D], or of each element [B, R, D] float32. `b` may be missing: zeros.
Value blend_columns(Tape& tape, const Value& a, const Value& b, const Parameter& logits);
Value blend_elements(Tape& tape, const Value& a, const Value& b, const Value& logits);

}  // namespace segue

// Streams that layers add to where they lie, and from which backward subtracts again what was added. So no layer keeps
// what the ones behind it overwrite: it finds its inputs as they were, up to rounding.
#pragma once

#include "core/tape/tape.h"

namespace segue {

// A stream that begins as x [B, T, D]: float32, whatever activations are, so that subtracting what was added loses as
// little as single precision must.
Value reversible_stream(Tape& tape, const Value& x);

// A stream as it is now, [B, T, D] of activations, for whatever reads it later. No gradient.
Value copy_of_stream(Tape& tape, const Value& stream);

// The stream with a branch [B, T, D] of activations added, in its place and with its gradient. In a part that is
// computed again, backward has the branch again when it subtracts it.
Value add_reversibly(Tape& tape, const Value& stream, const Value& branch);

}  // namespace segue
